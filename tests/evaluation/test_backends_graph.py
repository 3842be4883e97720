"""Search over a graph of names and passages."""

from searchers import ids

from pss_integrations.evaluation.backends import GraphIndex
from pss_integrations.retrieval import BM25Index
from pss_integrations.types import Passage

HARBOUR = [
    Passage("a", "The crane belongs to Marta Olsen. It stands at Port Arden."),
    Passage("b", "Marta Olsen repairs clocks on Sundays."),
    Passage("c", "Nobody repairs clocks at night."),
    Passage("d", "A ferry leaves Port Arden daily, and ferry timetables hang at the quay."),
    Passage("e", "The lighthouse of Skarn was painted by Ivo Brandt."),
]


def test_names_are_joined_to_their_passages_and_to_names_of_the_same_sentence() -> None:
    graph = GraphIndex([*HARBOUR, Passage("f", "Marta Olsen left Port Arden.", "Marta Olsen, Port Arden")]).graph
    assert {*graph["skarn"]} == {4, "ivo brandt"}
    assert graph["marta olsen"]["port arden"]["weight"] == 2  # of "f": text and title, but not both sentences of "a"
    assert {node for node in graph["marta olsen"] if isinstance(node, int)} == {0, 1, 5}
    assert graph[0]["marta olsen"]["weight"] == 1
    assert graph.degree[2] == 0


def test_evidence_is_found_through_a_name_that_the_query_does_not_hold() -> None:
    asked = "Which hobby has the owner of the machine at Port Arden?"
    assert "b" not in ids(BM25Index(HARBOUR), "Port Arden")
    found = ids(GraphIndex(HARBOUR), "Port Arden")
    assert set(found) == {"a", "b", "d"}
    assert found.index("b") == 2
    assert ids(GraphIndex(HARBOUR), asked)[0] in {"a", "d"}


def test_what_names_nothing_known_is_searched_by_words_alone() -> None:
    for query in ("repairs clocks", "who paints lighthouses at Night", "Berlin", "Wien clocks v7.7.7"):
        assert GraphIndex(HARBOUR).search(query, 9) == BM25Index(HARBOUR).search(query, 9)


def test_names_are_known_in_small_letters() -> None:
    graph, query = GraphIndex(HARBOUR), "what does marta olsen do"
    assert graph.search(query, 9) != BM25Index(HARBOUR).search(query, 9)
    assert {hit.doc_id for hit in graph.search(query, 2)} == {"a", "b"}


def test_a_name_counts_less_the_more_passages_hold_it() -> None:
    often = [Passage(f"o{number}", f"The Heron Bay sails, {number} knots") for number in range(4)]
    index = GraphIndex([*often, Passage("r", "The Kestrel Sound sails, 9 knots")])
    rare, *others = index.search("Kestrel Sound or Heron Bay?", 5)
    assert rare.doc_id == "r"
    assert rare.score > 1.5 * sum(hit.score for hit in others)


def test_both_texts_of_an_expanded_search_name_something() -> None:
    index = GraphIndex(HARBOUR)
    assert {"b", "e"} <= {hit.doc_id for hit in index.search_expanded("Skarn", "Marta Olsen", 9)}
    assert index.search_expanded("Skarn", "Marta Olsen", 1, query_weight=9)[0].doc_id == "e"
    assert index.search_expanded("Skarn", "Marta Olsen", 1, query_weight=1 / 9)[0].doc_id in {"a", "b"}


def test_a_walk_from_one_name_gives_away_no_more_than_it_has() -> None:
    scores = [hit.score for hit in GraphIndex(HARBOUR).search("Marta Olsen at Port Arden", 9)]
    assert 0 < sum(scores) <= 1
