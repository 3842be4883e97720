"""Folding, tokens, identifiers, names and content words."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.text import content_words, identifiers, names, normalise, tokenize


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("ＡＷＳ  Region", "aws region"),
        (unicodedata.normalize("NFD", "Café"), "CAFÉ"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        (unicodedata.normalize("NFD", "İstanbul"), "istanbul"),
        ("Kim’s re‑run", "kim's re-run"),
        ("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
        ("\u200fשלום\n\tעולם ", "שלום עולם"),
        ("ﬁle", "file"),
    ],
)
def test_equal_looking_texts_fold_together(left: str, right: str) -> None:
    assert normalise(left) == normalise(right)
    assert tokenize(left) == tokenize(right)


def test_accents_and_signs_that_carry_meaning_survive_folding() -> None:
    assert normalise("naïve") != normalise("naive")
    assert normalise("C++") != normalise("C")


@given(st.text())
def test_normalise_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("v1.2.3", ["v1.2.3", "1.2.3", "v1", "2", "3"]),
        ("ckpt-4821", ["ckpt-4821", "ckpt", "4821"]),
        ("us-east-1", ["us-east-1", "us", "east", "1"]),
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("retry_limit", ["retry_limit", "retri", "limit"]),
        ("dry-run", ["dry-run", "dri", "run"]),
        ("node.js", ["node.js", "node", "js"]),
        ("gpt-4o", ["gpt-4o", "gpt", "4o"]),
        ("2026-03-14", ["2026-03-14", "2026", "03", "14"]),
        ("k8s", ["k8s"]),
        ("C++ and C#.", ["c++", "and", "c#"]),
        ("C++17", ["c++17", "c++", "17"]),
        (".NET (.env)", [".net", "net", ".env", "env"]),
        ("ASP.NET", ["asp.net", "asp", "net"]),
        ("R, C", ["r", "c"]),
        ("iPhone", ["iphone", "iphon", "phone"]),
        ("U.S. laws", ["u.s", "us", "u", "s", "law"]),
        ("R&D", ["r&d", "r", "d"]),
        ("kim@example.org", ["kim@example.org", "kim", "exampl", "org"]),
        ("src/main.py", ["src", "main.py", "main", "py"]),
        ("1,250,000 rows", ["1250000", "row"]),
        ("IT is not no", ["it", "is", "not", "no"]),
        ("I'm sure the users' and Kim's don't", ["i", "sure", "the", "user", "and", "kim", "don't"]),
        ("`foo`, install.sh | bash --dry-run", ["foo", "install.sh", "instal", "sh", "bash", "dry-run", "dri", "run"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_camel_case_gives_its_words_in_the_form_plain_words_have() -> None:
    tokens = tokenize("parseHTMLResponse")
    assert tokens[0] == "parsehtmlresponse"
    assert {*tokenize("parse"), *tokenize("HTML"), *tokenize("responses")} <= set(tokens)


@pytest.mark.parametrize("word", ["YouTube", "WebSockets", "PostgreSQL", "TypeScript"])
def test_a_camel_case_word_shares_a_token_with_its_spelling_in_lower_case(word: str) -> None:
    assert set(tokenize(word)) & set(tokenize(word.lower()))


def test_plain_words_are_stemmed_and_identifiers_are_not() -> None:
    assert tokenize("configurations") == tokenize("configuration")
    assert "configurations-2" in tokenize("configurations-2")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们使用数据库 MongoDB", "数据库"),
        ("データベースを使う", "データ"),
        ("데이터베이스를 사용한다", "데이터베이스"),
        ("เก็บข้อมูลในฐานข้อมูล", "ฐานข้อมูล"),
        ("база данных проекта", "данных"),
        ("قاعدة البيانات الجديدة", "البيانات"),
        ("नई परियोजना की योजना", "परियोजना"),
        ("使用C#和v1.2的部署", "C#"),
        ("使用C#和v1.2的部署", "v1.2"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "データベース"),
    ],
)
def test_every_script_is_found(text: str, query: str) -> None:
    assert tokenize(query)
    assert set(tokenize(query)) <= set(tokenize(text))


def test_unsegmented_scripts_give_pairs_and_a_lone_character_itself() -> None:
    assert tokenize("数据库") == ["数据", "据库"]
    assert tokenize("猫 dog") == ["猫", "dog"]
    assert not set(tokenize("天气预报")) & set(tokenize("我们使用数据库"))


@pytest.mark.parametrize("text", ["", "  \n", "???", "...", "🎉", "👩‍👩‍👧", "❤️", "_", "++", "#"])
def test_nothing_to_search_gives_no_tokens(text: str) -> None:
    assert tokenize(text) == []


@given(st.text())
def test_tokens_are_never_empty_and_do_not_depend_on_how_accents_are_composed(text: str) -> None:
    tokens = tokenize(text)
    assert all(tokens)
    assert tokens == tokenize(unicodedata.normalize("NFC", text)) == tokenize(unicodedata.normalize("NFD", text))


def test_threads_tokenize_as_one_thread_does() -> None:
    texts = [f"{word}{index} {word}ations running {word}ing" for index in range(50) for word in ("deploy", "model")]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokenize, texts * 4)) == [tokenize(text) for text in texts * 4]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Put v1.2.3 of ckpt-4821 into us-east-1.", ["v1.2.3", "ckpt-4821", "us-east-1"]),
        ("Call getUserById, then retry_limit!", ["getUserById", "retry_limit"]),
        ("node.js's loop (C++, C# or .NET)", ["node.js", "C++", "C#", ".NET"]),
        ("Since 2026-03-14 on port 8080 with 0.75", ["2026-03-14", "8080", "0.75"]),
        ("mail kim@example.org", ["kim@example.org"]),
        ("GPT-4o, gpt-4o and GPT-4o", ["GPT-4o", "gpt-4o"]),
        ("部署v1.2.3版本", ["v1.2.3"]),
        ("3 runs, the 2nd at 7pm, a 4-star place", []),
        ("a well-known U.S. law, e.g. this", []),
        ("Thanks.What now?", []),
        ("O'Brien and McDonald don't", []),
        ("", []),
    ],
)
def test_identifiers(text: str, found: list[str]) -> None:
    assert identifiers(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("When did Y. A. Tittle leave the University of Texas?", ["Y. A. Tittle", "University of Texas"]),
        ("A. A. Milne wrote it", ["A. A. Milne"]),
        ("Ask Dr. Kim Lee about St. Louis.", ["Dr. Kim Lee", "St. Louis"]),
        ("Compare Johnson & Johnson with Jean-Luc O'Brien's shop", ["Johnson & Johnson", "Jean-Luc O'Brien"]),
        ("We met Alexander the Great in The Hague", ["Alexander the Great", "Hague"]),
        ("Does Baylor's Kim know?", ["Baylor", "Kim"]),
        ("Deploy Kestrel Prod to AWS", ["Kestrel Prod", "AWS"]),
        ("AWS is down", ["AWS"]),
        ("Owner: Bob Stone\nRegion: Oslo", ["Bob Stone", "Oslo"]),
        ("Vitamin C. The rest is in R", ["Vitamin C", "R"]),
        ("I asked, e.g. Kestrel", ["Kestrel"]),
        ("Где живёт Анна?", ["Анна"]),
        ("Turn \"red mode\" on for `retry_limit` in 'prod'", ["red mode", "retry_limit", "prod"]),
        ("She sang “Let It Be,” then 《三体》", ["Let It Be", "三体"]),
        ("Is Kim there? Kim!", ["Kim"]),
        ("The IT team", ["IT"]),
    ],
)
def test_names(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "What's up? That's fine. I'm here, I'll wait and I don't mind.",
        "Which one? Both are in the South.",
        "Let's meet on Monday in March",
        "Kestrels are birds.",
        "Deploy it. Then use the previous one!",
        "PLEASE RESTART KESTREL NOW",
        "do NOT stop",
        "- Retries\n- Timeouts",
        'She said "it is that one"',
        "",
    ],
)
def test_no_names(text: str) -> None:
    assert names(text) == []


def test_a_word_that_opens_a_sentence_is_a_name_if_it_recurs_within_one() -> None:
    assert names("Kestrel uses retries. Does Kestrel crash?") == ["Kestrel"]


def test_a_long_quotation_is_no_term_but_names_within_it_count() -> None:
    assert names('He said "we want to move all of it over to Oslo next year"') == ["Oslo"]


def test_content_words() -> None:
    text = "What did the well-tuned Models say about v1.2, O'Brien's 42 runs and Straße? Don't!"
    assert content_words(text) == ["tuned", "models", "say", "o'brien", "runs", "strasse"]


@pytest.mark.parametrize("text", ["Is it the same as that one?", "Why not?", "I'm, you’re, can’t, they'd", "42"])
def test_function_words_carry_no_content(text: str) -> None:
    assert content_words(text) == []


@given(st.text())
def test_identifiers_and_names_are_spelled_as_in_the_text(text: str) -> None:
    for found in (identifiers(text), names(text)):
        assert all(item and item in text for item in found)
        assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        *((opening + "a", []) for opening in "“«「『《‘'\"`"),
        ('"', []),
        ("`", []),
        ("A ", []),
        ('"red mode" ', ["red mode"]),
        ("`Kim` 'Oslo' ", ["Kim", "Oslo"]),
        ("in Oslo, ", ["Oslo"]),
    ],
)
def test_names_in_a_megabyte(unit: str, found: list[str]) -> None:
    assert names(unit * (1_000_000 // len(unit))) == found


@pytest.mark.parametrize("marks", ["“”", "«»", "「」", "『』", "《》", "‘’"])
def test_an_opening_mark_that_is_never_closed_hides_no_term(marks: str) -> None:
    opening, closing = marks
    assert names(f"see {opening} the {opening}red mode{closing} there") == ["red mode"]
