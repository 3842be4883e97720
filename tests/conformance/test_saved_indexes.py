"""What every index of passages does with its files."""

import json
from pathlib import Path
from typing import Any

import pytest
from embedders import WordEmbedder
from searchers import BUILT, TEXTS, Kind, ids

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.types import Passage

pytestmark = pytest.mark.parametrize("kind", BUILT, indirect=True)


def test_a_loaded_index_is_the_saved_one(kind: Kind, tmp_path: Path) -> None:
    passages = [
        Passage("ü", "数据库 café", "T", {"page": [1, None]}),
        Passage("b", ""),
        Passage("c", "v1.2 cafe \ud800"),
    ]
    index = kind.build(passages)
    index.save(tmp_path / "deep" / "index")
    loaded = kind.load(tmp_path / "deep" / "index")
    assert len(loaded) == 3
    for query in ("数据库", "v1.2 café", "cafe", "nothing known", ""):
        assert loaded.search(query, 5) == index.search(query, 5)
    assert loaded.search_expanded("cafe", "T", 5, query_weight=2) == index.search_expanded(
        "cafe", "T", 5, query_weight=2
    )


@pytest.mark.parametrize("texts", [[], ["", "!!!"]])
def test_an_index_that_says_nothing_can_be_saved(kind: Kind, tmp_path: Path, texts: list[str]) -> None:
    kind.of(*texts).save(tmp_path / "index")
    loaded = kind.load(tmp_path / "index")
    assert (len(loaded), loaded.search("a", 1)) == (len(texts), [])


def test_saving_again_replaces_the_index_and_leaves_nothing_beside_it(kind: Kind, tmp_path: Path) -> None:
    kind.of(*TEXTS).save(tmp_path / "index")
    kind.of("!!!").save(tmp_path / "index")
    assert len(kind.load(tmp_path / "index")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_a_loaded_index_can_be_saved_where_it_came_from(kind: Kind, tmp_path: Path) -> None:
    kind.of(*TEXTS).save(tmp_path / "index")
    before = (tmp_path / "index/manifest.json").read_bytes()
    kind.load(tmp_path / "index").save(tmp_path / "index")
    assert (tmp_path / "index/manifest.json").read_bytes() == before


def test_the_same_passages_give_the_same_files(kind: Kind, tmp_path: Path) -> None:
    passages = [Passage(str(number), text) for number, text in enumerate(TEXTS)]
    for name, order in (("one", passages), ("two", passages[::-1])):
        kind.build(order).save(tmp_path / name)
    assert (tmp_path / "one/manifest.json").read_bytes() == (tmp_path / "two/manifest.json").read_bytes()


def test_what_is_no_index_is_never_overwritten(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/diary.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(InvalidInput, match=f"no {kind.called}"):
            kind.of("a").save(tmp_path / name)
    assert (tmp_path / "notes/diary.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "notes"]


def test_an_empty_directory_may_be_saved_to(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    kind.of("a").save(tmp_path / "index")
    assert ids(kind.load(tmp_path / "index"), "a") == ["p0"]


@pytest.mark.parametrize("metadata", [{"at": {1, 2}}, {"at": (1, 2)}, {1: "a"}, {"at": float("nan")}])
def test_metadata_that_json_would_change_is_refused(kind: Kind, tmp_path: Path, metadata: dict[Any, Any]) -> None:
    kind.of("a").save(tmp_path / "index")
    with pytest.raises(InvalidInput, match="metadata of passage 'x'"):
        kind.build([Passage("x", "b", metadata=metadata)]).save(tmp_path / "index")
    assert ids(kind.load(tmp_path / "index"), "a") == ["p0"]


def saved_files(kind: Kind, directory: Path) -> list[Path]:
    kind.of(*TEXTS).save(directory)
    return sorted(directory.iterdir())


def test_a_truncated_or_missing_file_is_noticed(kind: Kind, tmp_path: Path) -> None:
    for number in range(len(saved_files(kind, tmp_path / "whole"))):
        truncated = saved_files(kind, tmp_path / f"truncated{number}")[number]
        truncated.write_bytes(truncated.read_bytes()[:-3])
        missing = saved_files(kind, tmp_path / f"missing{number}")[number]
        missing.unlink()
        for file in (truncated, missing):
            with pytest.raises(InvalidInput):
                kind.load(file.parent)


def test_files_of_two_indexes_are_not_mixed(kind: Kind, tmp_path: Path) -> None:
    kind.of(*TEXTS).save(tmp_path / "one")
    kind.of(*TEXTS, "six").save(tmp_path / "two")
    (tmp_path / "one/passages.json").replace(tmp_path / "two/passages.json")
    with pytest.raises(InvalidInput, match="altered"):
        kind.load(tmp_path / "two")


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"format": "pss-bm25-1"}', '{"format": "other", "files": {}}', "{"])
def test_a_foreign_directory_is_refused(kind: Kind, tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(InvalidInput, match=f"no {kind.called}"):
        kind.load(tmp_path)


def test_an_index_of_another_format_is_refused(kind: Kind, tmp_path: Path) -> None:
    saved_files(kind, tmp_path / "index")
    file = tmp_path / "index/manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": "pss-none-0"}))
    with pytest.raises(InvalidInput, match="build and save it again"):
        kind.load(tmp_path / "index")


def test_a_missing_directory_is_refused(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"no {kind.called}"):
        kind.load(tmp_path / "nowhere")


def test_one_kind_of_index_does_not_replace_another(kind: Kind, tmp_path: Path) -> None:
    kind.of("a").save(tmp_path / "mine")
    BM25Index([]).save(tmp_path / "bm25")
    with ChromaIndex([], WordEmbedder()) as index:
        index.save(tmp_path / "chroma")
    refused = 0
    for name in ("bm25", "chroma"):
        try:
            kind.of("a").save(tmp_path / name)
        except InvalidInput as error:
            refused += f"no {kind.called}" in str(error)
    assert refused == sum(kind.called != called for called in ("BM25 index", "dense index"))
