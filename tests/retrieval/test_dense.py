"""The dense index: exact neighbours, whose vectors it takes, and where Chroma may and may not keep anything."""

import asyncio
import gc
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chroma_server import chroma_server
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from embedders import GivenEmbedder, WordEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import MockEmbedding

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval import ChromaIndex, TransformerEmbedder, as_embedder
from pss_integrations.types import Passage

TEXTS = ["red car", "blue bike", "green boat", "red bike"]


def passages_of(*texts: str) -> list[Passage]:
    return [Passage(f"p{number}", text) for number, text in enumerate(texts)]


def ids(index: ChromaIndex, query: str, k: int = 50) -> list[str]:
    return [hit.doc_id for hit in index.search(query, k)]


@pytest.fixture
def client() -> Iterator[Any]:
    """An in-memory client of the caller's own."""
    with chromadb.EphemeralClient() as client:
        yield client
        for collection in client.list_collections():
            client.delete_collection(collection.name)


# -- what it finds -------------------------------------------------------------------------------------------


def clustered(generator: np.random.Generator, count: int, spread: float) -> np.ndarray:
    centres = generator.normal(size=(20, 48))
    return centres[generator.integers(20, size=count)] + spread * generator.normal(size=(count, 48))


@pytest.mark.parametrize("spread", [3.0, 0.3, 0.01])
def test_the_hits_are_those_of_comparing_with_every_passage(spread: float) -> None:
    vectors = clustered(np.random.default_rng(0), 3000, spread)
    queries = clustered(np.random.default_rng(1), 20, spread)
    given_vectors = {f"p{row}": vector for row, vector in enumerate(vectors)}
    given_vectors |= {f"q{row}": vector for row, vector in enumerate(queries)}
    passages = [Passage(f"{row:04}", f"p{row}") for row in range(3000)]
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    ).T
    with ChromaIndex(passages, GivenEmbedder(given_vectors.__getitem__, 48)) as index:
        for k in (10, 100, 3000):
            for row, hits in enumerate(index.search_batch([f"q{row}" for row in range(20)], k)):
                expected = np.sort(cosines[row])[::-1][:k]
                assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-6)
                assert [cosines[row, int(hit.doc_id)] for hit in hits] == pytest.approx(expected, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    st.permutations(range(12)),
    st.lists(st.sampled_from(["red", "blue", "car", "bike", "!"]), max_size=4).map(" ".join),
    st.integers(1, 15),
)
def test_hits_depend_on_the_set_of_passages_alone(order: list[int], query: str, k: int) -> None:
    words = ["red car", "blue car", "red bike", "", "red car red car", "car, red!"]
    passages = [Passage(f"p{number:02}", words[number % 6]) for number in range(12)]
    with (
        chromadb.EphemeralClient() as client,
        ChromaIndex([passages[place] for place in order], WordEmbedder(8), client=client) as shuffled,
        ChromaIndex(passages, WordEmbedder(8), client=client) as index,
    ):
        hits = index.search(query, k)
        assert shuffled.search(query, k) == hits
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.doc_id))
    assert len(hits) == (min(k, 10) if query.strip(" !") else 0)


def test_many_equal_passages_are_all_there_in_order() -> None:
    passages = [Passage(f"{number:03}", "the same") for number in range(300)] + passages_of(*TEXTS)
    with ChromaIndex(passages[::-1], WordEmbedder()) as index:
        assert ids(index, "the same", 5) == ["000", "001", "002", "003", "004"]
        assert ids(index, "the same", 300) == [f"{number:03}" for number in range(300)]


@pytest.mark.parametrize("k", [1, 5, 40, 299, 1000])
def test_ties_of_different_vectors_go_by_doc_id_however_many_there_are(k: int) -> None:
    ahead = {"q": np.eye(300)[0], "p0": np.eye(300)[0] + np.eye(300)[1]}
    vectors = ahead | {f"p{number}": np.eye(300)[number] for number in range(2, 300)}
    passages = [Passage(f"{number:03}", f"p{number}") for number in (0, *range(2, 300))]
    with ChromaIndex(passages, GivenEmbedder(vectors.__getitem__, 300)) as index:
        assert ids(index, "q", k) == [passage.doc_id for passage in passages[:k]]


def test_each_distinct_text_is_embedded_once() -> None:
    embedder = WordEmbedder()
    with ChromaIndex([*passages_of("b", "a", "b", "", "!"), Passage("x", "", "a")], embedder):
        assert embedder.embedded == ["a", "b"]


def test_scores_are_cosines_whatever_the_lengths_of_the_vectors() -> None:
    vectors = {"east": (5, 0), "north east": (0.1, 0.1), "west": (-3, 0), "q": (0.01, 0)}
    with ChromaIndex(passages_of("east", "north east", "west"), GivenEmbedder(vectors.__getitem__, 2)) as index:
        hits = index.search("q", 3)
    assert [(hit.doc_id, hit.score) for hit in hits] == [
        ("p0", 1),
        ("p1", pytest.approx(0.5**0.5, abs=1e-6)),
        ("p2", -1),
    ]


def test_an_expanded_search_goes_between_the_two_vectors() -> None:
    vectors = {"a": (2, 0), "b": (0, 1), "q": (4, 0), "more": (0, 0.5)}
    with ChromaIndex(passages_of("a", "b"), GivenEmbedder(vectors.__getitem__, 2)) as index:
        hits = index.search_expanded("q", "more", 2, query_weight=3)
    # 3 * (1, 0) + (0, 1), of length sqrt(10)
    assert [hit.score for hit in hits] == pytest.approx([3 / 10**0.5, 1 / 10**0.5], abs=1e-6)


def test_what_points_nowhere_neither_finds_nor_is_found() -> None:
    vectors = {"a": (1, 0), "b": (0, 0), "opposite": (-1, 0)}
    with ChromaIndex(passages_of("a", "b"), GivenEmbedder(vectors.__getitem__, 2)) as index:
        assert ids(index, "a") == ["p0"]
        assert ids(index, "b") == []
        assert index.search_expanded("a", "opposite", 2) == []


async def test_asearch_lets_the_event_loop_go_on() -> None:
    loop_went_on = threading.Event()

    def embed(text: str) -> tuple[float, float]:
        assert text == "passage" or loop_went_on.wait(10)
        return (1, 0)

    with ChromaIndex(passages_of("passage"), GivenEmbedder(embed, 2)) as index:
        asyncio.get_running_loop().call_soon(loop_went_on.set)
        assert [hit.doc_id for hit in await index.asearch("query", 5)] == ["p0"]


def test_an_embedder_of_another_name_or_dimension_makes_another_index_id() -> None:
    index_ids = set[str]()
    for embedder in (WordEmbedder(), WordEmbedder(32), WordEmbedder(name="others")):
        with ChromaIndex(passages_of(*TEXTS), embedder) as index:
            index_ids.add(index.index_id)
    assert len(index_ids) == 3


# -- embedders -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embeddings", [DeterministicFakeEmbedding(size=8), MockEmbedding(embed_dim=8)])
def test_embeddings_of_both_frameworks_do(embeddings: Any, tmp_path: Path) -> None:
    with ChromaIndex(passages_of(*TEXTS), as_embedder(embeddings, name="fake")) as index:
        assert sorted(ids(index, "red car")) == ["p0", "p1", "p2", "p3"]
        assert ids(index, "red car", 1) == ["p0"]
        index.save(tmp_path / "index")
    with ChromaIndex.load(tmp_path / "index", as_embedder(embeddings, name="fake")) as index:
        assert ids(index, "red car", 1) == ["p0"]


def test_an_index_is_loaded_without_embedding_anything(tmp_path: Path) -> None:
    with ChromaIndex(passages_of(*TEXTS), WordEmbedder()) as index:
        index.save(tmp_path / "index")
    embedder = WordEmbedder()
    with ChromaIndex.load(tmp_path / "index", embedder) as index:
        assert embedder.embedded == []
        assert ids(index, "blue bike", 2) == ["p1", "p3"]


@pytest.mark.parametrize(("dimension", "name"), [(64, "others"), (32, "words")])
def test_another_embedder_is_refused(tmp_path: Path, dimension: int, name: str) -> None:
    """mem0ai/mem0#1700: vectors of two models met in one index."""
    with ChromaIndex(passages_of(*TEXTS), WordEmbedder()) as index:
        index.save(tmp_path / "index")
    with pytest.raises(InvalidInput, match=f"'words' of dimension 64, not with '{name}' of dimension {dimension}"):
        ChromaIndex.load(tmp_path / "index", WordEmbedder(dimension, name))


@pytest.mark.parametrize("vector", [(1, 2, 3), (1,), (float("nan"), 0), (float("inf"), 0)])
def test_vectors_that_cannot_be_compared_are_refused(vector: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"given (must give 1 vectors of dimension 2|gave a vector)"):
        ChromaIndex(passages_of("a"), GivenEmbedder(lambda _: vector, 2))
    with (
        ChromaIndex(passages_of("a"), GivenEmbedder(lambda text: (1, 0) if text == "a" else vector, 2)) as index,
        pytest.raises(InvalidInput, match=r"given (must give 1 vectors of dimension 2|gave a vector)"),
    ):
        index.search("b", 1)


def test_what_embeds_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="give a TransformerEmbedder"):
        ChromaIndex([], "all-minilm-l6-v2")


@pytest.mark.weights
def test_a_paraphrase_is_found_that_shares_no_word() -> None:
    passages = passages_of("Our cat loves tuna", "An outage hit the production machine yesterday evening", "Buy stamps")
    with ChromaIndex(passages, TransformerEmbedder(download=True)) as index:
        first, second, _ = index.search("Why did our servers crash?", 3)
    assert first.doc_id == "p1"
    assert first.score > second.score + 0.1


# -- Chroma --------------------------------------------------------------------------------------------------


def test_chroma_never_embeds(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    """Its default would download a model."""

    def embed(*_: object) -> None:
        raise AssertionError("Chroma was asked to embed")

    monkeypatch.setattr(chromadb.api.types.DefaultEmbeddingFunction, "__call__", embed)
    for options in ({}, {"client": client}):
        with ChromaIndex(passages_of(*TEXTS), WordEmbedder(), **options) as index:
            assert ids(index, "blue bike", 1) == ["p1"]


def test_chroma_holds_neither_texts_nor_ids_nor_metadata(client: Any) -> None:
    with ChromaIndex([Passage("secret", "red car", "t", {"of": "ada"})], WordEmbedder(), client=client):
        [collection] = client.list_collections()
        held = collection.get(include=["documents", "metadatas", "uris"])
    assert (held["ids"], held["documents"], held["metadatas"], held["uris"]) == (["0"], [None], [None], [None])


def test_indexes_of_one_client_do_not_see_each_other(client: Any) -> None:
    with (
        ChromaIndex(passages_of("red"), WordEmbedder(), client=client) as one,
        ChromaIndex([Passage("x", "red"), Passage("y", "blue")], WordEmbedder(8), client=client) as two,
    ):
        assert (ids(one, "red"), ids(two, "red")) == (["p0"], ["x", "y"])
        one.close()
        assert ids(two, "red") == ["x", "y"]
    assert client.list_collections() == []


def test_indexes_of_one_directory_do_not_see_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = ChromaIndex(passages_of("red"), WordEmbedder(), path=tmp_path / "deep/chroma")
    with ChromaIndex(passages_of("blue", "red"), WordEmbedder(), path="deep/chroma") as two:
        assert (tmp_path / "deep/chroma/chroma.sqlite3").exists()
        assert (ids(one, "red"), ids(two, "red")) == (["p0"], ["p1", "p0"])
        one.close()
        assert ids(two, "red") == ["p1", "p0"]
    with chromadb.PersistentClient(tmp_path / "deep/chroma") as client:
        assert client.list_collections() == []


def test_a_directory_may_hold_vectors_of_another_dimension(tmp_path: Path) -> None:
    """mem0ai/mem0#1700: vectors of two dimensions met in one collection."""
    with chromadb.PersistentClient(tmp_path) as client:
        client.create_collection("theirs", embedding_function=None).add(ids=["1"], embeddings=[[1.0, 0.0]])
    with (
        ChromaIndex(passages_of(*TEXTS), WordEmbedder(8), path=tmp_path) as small,
        ChromaIndex(passages_of(*TEXTS), WordEmbedder(64), path=tmp_path) as large,
    ):
        assert ids(small, "blue bike", 1) == ids(large, "blue bike", 1) == ["p1"]
    with chromadb.PersistentClient(tmp_path) as client:
        [theirs] = client.list_collections()
        assert (theirs.name, theirs.count()) == ("theirs", 1)


def test_an_index_does_not_meet_the_clients_of_the_process() -> None:
    """All in-memory clients of a process share one memory, and refuse another's settings."""
    with (
        chromadb.EphemeralClient(Settings(allow_reset=True)) as client,
        ChromaIndex(passages_of(*TEXTS), WordEmbedder()) as index,
    ):
        client.reset()
        assert ids(index, "blue bike", 1) == ["p1"]
        assert client.list_collections() == []


def chroma_directories(place: Path) -> list[Path]:
    return list(place.glob("pss-chroma-*"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_closing_frees_everything(temporary: Path) -> None:
    systems = dict(SharedSystemClient._identifier_to_system)
    index = ChromaIndex(passages_of(*TEXTS), WordEmbedder())
    assert len(chroma_directories(temporary)) == 1
    index.close()
    index.close()
    assert chroma_directories(temporary) == []
    assert systems == SharedSystemClient._identifier_to_system
    with pytest.raises(InvalidInput, match="the index was closed"):
        index.search("red", 1)


def test_an_index_that_is_dropped_is_closed(temporary: Path) -> None:
    index = ChromaIndex(passages_of(*TEXTS), WordEmbedder())
    assert chroma_directories(temporary)
    del index
    gc.collect()
    assert chroma_directories(temporary) == []


def test_a_process_that_ends_leaves_nothing(temporary: Path) -> None:
    code = """
from embedders import WordEmbedder
from pss_integrations import Passage
from pss_integrations.retrieval import ChromaIndex
index = ChromaIndex([Passage("a", "red")], WordEmbedder())
print(index.search("red", 1)[0].doc_id)
"""
    tests = Path(__file__).parent.parent
    environment = {"PYTHONPATH": str(tests), "TMPDIR": str(temporary), "PYTHONWARNINGS": "error"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (run.stdout.strip(), run.stderr) == ("a", "")
    assert chroma_directories(temporary) == []


def test_an_index_that_cannot_be_filled_leaves_nothing(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def add(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(chromadb.Collection, "add", add)
    with pytest.raises(OSError, match="no space left"):
        ChromaIndex(passages_of(*TEXTS), WordEmbedder())
    assert chroma_directories(temporary) == []


def test_a_client_that_forgot_the_collection_can_still_be_left(client: Any) -> None:
    index = ChromaIndex(passages_of(*TEXTS), WordEmbedder(), client=client)
    client.delete_collection(client.list_collections()[0].name)
    index.close()


def test_a_given_client_stays_open_and_keeps_its_own(client: Any) -> None:
    client.create_collection("mine", embedding_function=None)
    ChromaIndex(passages_of(*TEXTS), WordEmbedder(), client=client).close()
    assert [collection.name for collection in client.list_collections()] == ["mine"]


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_batches_are_no_larger_than_the_client_takes(
    client: Any, monkeypatch: pytest.MonkeyPatch, most: int, tmp_path: Path
) -> None:
    sizes = list[int]()
    add = chromadb.Collection.add

    def counted(self: Any, ids: list[str], **vectors: Any) -> None:
        sizes.append(len(ids))
        add(self, ids, **vectors)

    monkeypatch.setattr(chromadb.Collection, "add", counted)
    monkeypatch.setattr(client, "get_max_batch_size", lambda: most)
    texts = [f"word{number}" for number in range(10)]
    with ChromaIndex(passages_of(*texts), WordEmbedder(), client=client) as index:
        assert [ids(index, text, 1) for text in texts] == [[f"p{number}"] for number in range(10)]
    assert (sum(sizes), max(sizes)) == (10, min(most, 10))


def test_places_that_chroma_cannot_use_are_refused(tmp_path: Path, client: Any) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput, match="Chroma cannot open"):
        ChromaIndex([], WordEmbedder(), path=tmp_path / "file")
    with (
        chromadb.PersistentClient(tmp_path / "used", Settings(allow_reset=True)),
        pytest.raises(InvalidInput, match="different settings"),
    ):
        ChromaIndex([], WordEmbedder(), path=tmp_path / "used")
    with pytest.raises(InvalidInput, match="leave the path out"):
        ChromaIndex([], WordEmbedder(), path=tmp_path, client=client)
    with pytest.raises(InvalidInput, match="synchronous Chroma client, got str"):
        ChromaIndex([], WordEmbedder(), client="localhost")  # type: ignore[arg-type]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """A client of a Chroma server that runs as long as the test."""
    with chroma_server(tmp_path / "server") as client:
        yield client


def test_a_server_finds_the_same(server: Any, tmp_path: Path) -> None:
    passages = passages_of(*TEXTS, *(f"word{number} red" for number in range(50)))
    with ChromaIndex(passages, WordEmbedder(), client=server) as index, ChromaIndex(passages, WordEmbedder()) as own:
        assert re.fullmatch("pss-[0-9a-f]{32}", server.list_collections()[0].name)
        assert index.search_batch(["red", "", "blue bike word7"], 9) == own.search_batch(
            ["red", "", "blue bike word7"], 9
        )
        own.save(tmp_path / "index")
    with ChromaIndex.load(tmp_path / "index", WordEmbedder(), client=server) as index:
        assert ids(index, "blue bike", 1) == ["p1"]
    assert server.list_collections() == []


# -- extras --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("ChromaIndex", "chromadb", "chroma"), ("TransformerEmbedder", "torch", "states")],
)
def test_a_missing_package_names_its_extra(name: str, package: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
from pss_integrations.errors import MissingExtra
from pss_integrations import retrieval
heavy = {{"chromadb", "torch", "transformers", "langchain_core", "llama_index"}} - {{{package!r}}}
assert not heavy & set(sys.modules)
try:
    retrieval.{name}
except MissingExtra as error:
    assert "pip install 'pss-integrations[{extra}]'" in str(error), error
else:
    sys.exit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_no_attribute() -> None:
    import pss_integrations.retrieval as retrieval

    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = retrieval.absent
    assert sorted(retrieval.__all__) == retrieval.__all__
