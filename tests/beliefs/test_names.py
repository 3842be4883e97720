"""What two spellings of a name have in common, and when words mean a name."""

import unicodedata

import pytest

from pss_integrations.beliefs.names import Words, lexemes, misreading, name_key, spelled


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("redis_cache", "redis cache"),
        ("Redis-Cache", "redis cache"),
        ("  redis  cache ", "redis cache"),
        ("try/catch", "try catch"),
        ("@typescript-eslint", "typescript eslint"),
        ("R&D", "r d"),
        ("GitHub-hosted", "github hosted"),
        ("__init__", "init"),
        ("node.js", "node.js"),
        ("Fly.io.", "fly.io"),
        ("v1.2", "v1.2"),
        (".NET", ".net"),
        ("C++ and C#", "c++ and c#"),
        ("gpt-4o", "gpt 4o"),
        ("RFC-9110", "rfc 9110"),
        ("2026-03-14", "2026 03 14"),
        ("us-east-1", "us east 1"),
        ("k8s?", "k8s"),
        ("pipe()", "pipe"),
        ("Redis's", "redis"),
        ("Redis’s", "redis"),
        ("ＡＷＳ", "aws"),
        (unicodedata.normalize("NFD", "Café"), "café"),
        ("İstanbul", "istanbul"),
        ("zero\u200bwidth", "zerowidth"),
        ("数据库", "数 据 库"),
        ("使用MongoDB数据库", "使 用 mongodb 数 据 库"),
        ("ฐานข้อมูล", " ".join(["ฐ", "า", "น", "ข้", "อ", "มู", "ล"])),
        ("база_данных", "база данных"),
    ],
)
def test_the_key_of_a_name_knows_words_only(text: str, key: str) -> None:
    assert name_key(text) == key


def test_dots_and_signs_inside_keep_names_apart() -> None:
    names = ["C", "C++", "C#", "net", ".NET", "node", "node.js", "v1.2", "v12", "gpt-4", "gpt-4o"]
    assert len(set(map(name_key, names))) == len(names)


@pytest.mark.parametrize("name", ["!!!", " ! ! ", "🔥", "👩‍💻", "…"])
def test_a_name_without_words_is_told_by_its_signs(name: str) -> None:
    assert lexemes(name) == []
    assert name_key(name) == " ".join(unicodedata.normalize("NFKC", name).replace("\u200d", "").split())


@pytest.mark.parametrize(
    ("text", "compound"),
    [
        ("R", [False]),
        ("(R)", [False]),
        ("R's", [False]),
        ("R/Go", [False, False]),
        ("R-squared", [True, True]),
        ("snake_case", [True, True]),
        ("R&D", [True, True]),
        ("ls -R", [False, True]),
        ("R -", [False]),
        ("数据", [False, False]),
    ],
)
def test_what_is_joined_to_another_word_is_part_of_a_compound(text: str, compound: list[bool]) -> None:
    assert [lexeme.compound for lexeme in lexemes(text)] == compound


def test_spelling_stays_beside_the_token() -> None:
    assert [(lexeme.token, lexeme.spelling) for lexeme in lexemes("ReactJS's Straße")] == [
        ("reactjs", "ReactJS"),
        ("strasse", "Straße"),
    ]
    assert spelled(lexemes("Use_Redis 数据库 now")) == "Use Redis 数据库now"


def test_every_stretch_of_a_query_has_its_key() -> None:
    words = Words("How does CI/CD work?")
    assert list(words.keys(2)) == [(0, "how does"), (1, "does ci"), (2, "ci cd"), (3, "cd work")]
    assert list(words.keys(6)) == []
    assert words.stretch(2, 2).key == "ci cd"
    assert words.size(2, len("ci cd")) == 2
    assert words.size(2, len("ci c")) is None
    assert not words.stretch(2, 2).is_all
    assert words.stretch(0, 5).is_all


@pytest.mark.parametrize(
    ("name", "query", "meant"),
    [
        ("Go", "rewrite it in Go", True),
        ("Go", "where do we go", False),
        ("Go", "GO", True),
        ("go", "where do we go", True),
        ("IT", "ask IT about it", True),
        ("US", "tell us", False),
        ("TS", "is ts strict", True),
        ("R", "use r here", True),
        ("R", "the R-squared of it", False),
        ("Redis", "Redis-backed", True),
    ],
)
def test_everyday_words_are_told_by_spelling_and_short_names_stand_alone(name: str, query: str, meant: bool) -> None:
    words = Words(query)
    found = [words.stretch(first, 1) for first, key in words.keys(1) if key == name_key(name)]
    assert any(misreading(name, stretch) is None for stretch in found) == meant
