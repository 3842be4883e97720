import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval import BM25Index
from pss_integrations.text import normalise
from pss_integrations.types import Passage
from pss_integrations.vocabulary import Vocabulary

PLAIN = [Passage(f"p{n}", "nothing but plain words") for n in range(40)]
# As texts have them: of many scripts, with marks, punctuation and emoji.
NAMES = "Rosewood Inn|東京タワー|서울|C++|Yahoo!|(Sic) transit|Café|½ pint|مطعم بغداد|दिल्ली|v2.4|🎉 Gala".split("|")
TITLES = st.text(min_size=1, max_size=12) | st.sampled_from(NAMES)


# -- what it is made of --------------------------------------------------------------------------------------


def test_titles_their_parts_and_rare_names_are_telling() -> None:
    passages = [*PLAIN, Passage("a", "Mira Toll met ckpt-4821 there.", "Kurt Vonnegut - Early life")]
    names = Vocabulary.from_passages(passages)
    assert set(names) == {"kurt vonnegut - early life", "kurt vonnegut", "early life", "mira toll", "ckpt-4821"}
    assert list(names)[-2:] == ["ckpt-4821", "mira toll"]  # titles first
    assert "KURT  Vonnegut" in names
    assert "Orsk" not in names
    assert 3 not in names


def test_words_that_many_passages_hold_tell_nothing() -> None:
    passages = [Passage(f"a{n}", f"The Origins of Rome, told by Mira Toll, {n}", "Origins") for n in range(30)]
    assert list(Vocabulary.from_passages(passages)) == []


@pytest.mark.parametrize("title", ["", " ", "2024", "---", "the and of", "🎉"])
def test_titles_that_say_nothing_are_left_out(title: str) -> None:
    assert len(Vocabulary.from_passages([Passage("a", "x", title)])) == 0


def test_nothing_gives_an_empty_one() -> None:
    for empty in (Vocabulary([]), Vocabulary.from_passages([])):
        assert (len(empty), empty.names_in("Rosewood Inn"), empty.rare_words(["any word"], 3)) == (0, [], [])


def test_one_string_is_no_collection_of_names() -> None:
    with pytest.raises(InvalidInput, match="one string"):
        Vocabulary("Rosewood Inn")
    with pytest.raises(InvalidInput, match="one string"):
        Vocabulary([], "Rosewood Inn")


def test_it_can_be_sampled_from_any_searcher() -> None:
    index = BM25Index(
        [*PLAIN, Passage("a", "rooms with a view", "Rosewood Inn"), Passage("b", "unseen", "Alder House")]
    )
    assert list(Vocabulary.sampled(index, ["any rooms?", "plain", ""], k=3)) == ["rosewood inn"]


def test_an_index_knows_its_own() -> None:
    index = BM25Index([Passage("a", "rooms", "Rosewood Inn")])
    assert list(index.vocabulary) == ["rosewood inn"]
    assert index.vocabulary is index.vocabulary


# -- names in a text -----------------------------------------------------------------------------------------

INNS = Vocabulary(["Rosewood", "Rosewood Inn", "Rosewood Inn Annex", "Alder House"], ["Mira Toll", "harbour"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is rosewood inn far from Rosewood?", ["rosewood inn", "Rosewood"]),
        ("the Rosewood Inn Annexe", ["Rosewood Inn"]),
        ("the Rosewood  Inn\nAnnex!", ["Rosewood  Inn\nAnnex"]),
        ("Rosewoods, Inn Annex", []),
        ("Rosewood, Inn", ["Rosewood"]),
        ("Mira Toll at the harbour", ["Mira Toll", "harbour"]),
        ("Mira Toll at Alder House", ["Alder House"]),  # a title hides other names
        ("Ｒｏｓｅｗｏｏｄ Ｉｎｎ", ["Rosewood Inn"]),
        ("", []),
    ],
)
def test_the_longest_title_counts_else_other_names(text: str, found: list[str]) -> None:
    assert INNS.names_in(text) == found


def test_titles_alone_can_be_asked_for() -> None:
    assert INNS.titles_in("Mira Toll at the harbour") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("東京タワー", "昨日東京タワーに行った"),
        ("서울", "서울에서 만나요"),
        ("Yahoo!", "is yahoo down?"),
        ("Café Ω", "the CAFE\u0301 ω"),
        ("مطعم بغداد", "أين مطعم بغداد؟"),
        ("O'Hare", "from O’Hare on"),
        ("🎉 Gala", "to the Gala 🎉"),
    ],
)
def test_names_of_every_script_are_found_in_sentences(name: str, text: str) -> None:
    assert len(Vocabulary([name]).names_in(text)) == 1


@given(st.lists(TITLES, min_size=1, max_size=5), st.sampled_from(["{}", " {} ", "({})", "\n{}\n"]))
def test_every_title_is_found_that_stands_alone(titles: list[str], form: str) -> None:
    vocabulary = Vocabulary(titles)
    for title in titles:
        if any(map(str.isalnum, title)):
            (found,) = vocabulary.names_in(form.format(title))
            assert normalise(found) in normalise(title)


@given(st.lists(TITLES, max_size=5), st.lists(TITLES, max_size=5), st.text())
def test_it_takes_any_text(titles: list[str], phrases: list[str], text: str) -> None:
    vocabulary = Vocabulary(titles, phrases)
    assert len(vocabulary) == len(list(vocabulary)) == len({*map(normalise, (*titles, *phrases))} - {""})
    assert all(name in vocabulary for name in (*titles, *phrases) if normalise(name))
    found = vocabulary.names_in(text)
    assert found == (vocabulary.titles_in(text) or Vocabulary(phrases).names_in(text))


@given(
    st.lists(TITLES, max_size=6).flatmap(lambda titles: st.tuples(st.just(titles), st.permutations(titles))), st.text()
)
def test_the_order_of_the_names_does_not_matter(titles: tuple[list[str], list[str]], text: str) -> None:
    one, other = map(Vocabulary, titles)
    assert list(one) == list(other)
    assert one.names_in(text) == other.names_in(text)


@pytest.mark.parametrize(
    "text", ["Rosewood inn " * 80_000, "東京" * 500_000, "🎉" * 250_000, "a" * 1_000_000, "a-" * 500_000]
)
def test_a_megabyte_is_gone_through(text: str) -> None:
    long_title = "Rosewood " + "Inn Annex " * 3_000
    found = Vocabulary([long_title, "Rosewood Inn", "東京タワー"]).names_in(text)
    assert len(found) == text.count("Rosewood")


def test_a_long_title_is_taken_apart() -> None:
    title = "Alder" + " " * 200_000 + "House - Rooms"
    assert "alder house" in Vocabulary.from_passages([Passage("a", "x", title)])


def test_looking_a_name_up_does_not_go_through_all_names() -> None:
    many = Vocabulary((f"title {n}" for n in range(100_000)), (f"phrase {n}" for n in range(100_000)))
    assert all(f"Title {n}" in many and len(many) == 200_000 for n in range(2_000))


# -- rarity --------------------------------------------------------------------------------------------------

INDEX = Vocabulary.from_passages(
    [*PLAIN, Passage("a", "thermostat pilot hums"), Passage("b", "thermostat dial"), Passage("c", "dial again")]
)


def test_rarer_words_say_more_and_unknown_ones_most() -> None:
    assert INDEX.surprise("nowhere") > INDEX.rarity("pilot") > INDEX.rarity("thermostat") > INDEX.rarity("plain") >= 0
    assert INDEX.rarity("nowhere") == INDEX.rarity("") == INDEX.rarity("!?") == 0.0
    assert INDEX.rarity("Thermostats") == INDEX.rarity("thermostat")


@pytest.mark.parametrize(
    ("texts", "count", "words"),
    [
        (["the thermostat hums, plain and unheard"], 9, ["hums", "thermostat"]),
        (["the pilot hums"], 1, ["pilot"]),
        (["the thermostat", "the pilot"], 9, ["pilot", "thermostat"]),
        (["the pilot", "the thermostat"], 9, ["thermostat", "pilot"]),  # an earlier text counts less
        (["plain words"], 9, []),
        (["the pilot hums"], 0, []),
        ([], 3, []),
    ],
)
def test_rare_words_come_the_rarest_first(texts: list[str], count: int, words: list[str]) -> None:
    assert INDEX.rare_words(texts, count) == words


@given(st.lists(st.text() | st.just("thermostat pilot"), max_size=3), st.integers(0, 5))
def test_rare_words_are_words_of_the_texts(texts: list[str], count: int) -> None:
    found = INDEX.rare_words(texts, count)
    assert len(found) <= count
    assert len(found) == len(set(found))
    assert all(INDEX.rarity(word) > 0 for word in found)


def test_two_sentences_without_a_space_make_no_name() -> None:
    passages = [Passage(str(n), f"It is over.The end of part {n}.") for n in range(4)]
    passages.append(Passage("net", "Written in .NET alone"))
    assert Vocabulary.from_passages(passages).names_in("the .net part of the end") == ["net"]


def test_a_title_of_one_word_counts_however_often_its_own_passages_say_it() -> None:
    reviews = [Passage(f"{name}{n}", f"{name} was fine, {n}", name) for name in ("Avalon", "Kymmoy") for n in range(40)]
    others = [Passage(f"o{n}", f"We missed the origins, {n}", f"Inn {n}") for n in range(40)]
    generic = [Passage(f"g{n}", "How it began", f"Rome {n} - Origins") for n in range(40)]
    vocabulary = Vocabulary.from_passages([*reviews, *others, *generic])
    assert vocabulary.titles_in("I recommend the avalon for its origins.") == ["avalon"]


def test_an_apostrophe_parts_no_name() -> None:
    assert Vocabulary(["HOBSONS HOUSE"]).names_in("a hotel called Hobson\u2019s House") == ["Hobson\u2019s House"]
    assert Vocabulary(["Hobson's House"]).names_in("is hobsons house far?") == ["hobsons house"]
    assert "Hobsons house" in Vocabulary(["Hobson's House"])
