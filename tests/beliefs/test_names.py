"""What two spellings of a name have in common, and when words mean a name."""

import unicodedata

import pytest

from pss_integrations.beliefs.names import Words, is_common, lexemes, misreading, name_key, solid, spelled


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
        ("新しいデータベースを", "新 し い データベース を"),
        ("負荷テスト", "負 荷 テスト"),
        ("kim.lee@acme.com", "kim.lee@acme.com"),
        ("kit@1.2 @acme/kit", "kit 1.2 acme kit"),
        ("Redis.What next", "redis what next"),
        ("Redis.Whatever Fly.Io", "redis whatever fly.io"),
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
    assert [lexeme.spelling for lexeme in words.stretch(2, 2).lexemes] == ["CI", "CD"]
    assert (words.stretch(2, 2).next, words.stretch(2, 3).next) == ("work", None)
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
        ("R", "use r here", False),
        ("r", "use R here", False),
        ("r", "use r here", True),
        ("X", "x", True),
        ("C", "in C sharp", False),
        ("Go", "Go ahead", False),
        ("Go", "It works. Go ahead", False),
        ("Go", "it works\n- Go ahead", False),
        ("Go", "it works, Go ahead", True),
        ("IT", "IT is down", True),
        ("On-call", "who is on call", True),
        ("Follow up", "Follow up on it", True),
        ("R", "the R-squared of it", False),
        ("Redis", "Redis-backed", True),
    ],
)
def test_everyday_words_are_told_by_spelling_and_short_names_stand_alone(name: str, query: str, meant: bool) -> None:
    words = Words(query)
    size = len(lexemes(name))
    found = [words.stretch(first, size) for first, key in words.keys(size) if key == name_key(name)]
    assert any(misreading(name, stretch) is None for stretch in found) == meant


@pytest.mark.parametrize(
    ("key", "without"),
    [("gpt 4", "gpt4"), ("get user", "getuser"), ("10 5 a 2", "10 5a2"), ("a", "a"), ("1 2 3", "1 2 3")],
)
def test_a_key_without_spaces_keeps_numbers_apart_and_so_does_a_query(key: str, without: str) -> None:
    words = Words(key)
    assert solid(key) == without
    assert list(words.solids(len(words))) == [(0, without)]


def test_each_stretch_of_a_query_is_solid_like_its_key() -> None:
    words = Words("use gpt 4 1 for 10 5 tests")
    for size in range(1, len(words) + 1):
        assert [*words.solids(size)] == [(first, solid(key)) for first, key in words.keys(size)]


@pytest.mark.parametrize(("key", "common"), [("go", True), ("on call", True), ("on fire", False), ("golang", False)])
def test_a_key_is_common_if_all_of_its_words_are(key: str, common: bool) -> None:
    assert is_common(key) == common
