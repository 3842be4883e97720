"""The README's examples run as they stand, on real weights, one after the other."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from pages import README, blocks, check_session, prose

from pss_integrations import BM25Index, demo
from pss_integrations.evaluation.metrics import all_recall_at_k


def test_set_up_is_two_lines() -> None:
    lines = [line for block in blocks(README, "bash") for line in block.splitlines()]
    set_up = [line for line in lines if line.startswith("python3 -m venv")]
    assert [line.rpartition("/")[2] for line in set_up] == ["pssi demo", "pytest"]


def test_first_table_is_what_the_demo_finds() -> None:
    """The clues are those that a state wrote; what query and clue find needs no weights."""
    index, questions = BM25Index(demo.demo_pool()), {one.query: one for one in demo.demo_questions()}
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \| (.*\*\*.+)\*\* \|$", prose(README), re.MULTILINE)
    shown = [row for row in rows if row[0] in questions]
    assert len(shown) == 3
    for query, raw, clue, found in shown:
        evidence = questions[query].evidence
        plain, clued = index.search(query, 4), index.search_expanded(query, clue, 4)
        *others, answer = re.split(r"(?:; )?\*\*", found)
        titles = [*filter(None, others), answer]
        assert plain[0].passage.title == raw
        assert [hit.passage.title for hit in clued][: len(titles)] == titles
        assert all_recall_at_k([hit.doc_id for hit in plain], evidence, 4) == 0.0
        assert all_recall_at_k([hit.doc_id for hit in clued], evidence, 4) == 1.0
        assert clued[len(titles) - 1].doc_id in frozenset().union(*evidence)


@pytest.mark.weights
def test_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from llama_index.core.base.base_retriever import BaseRetriever as NodeRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.core.settings import Settings

    searched: list[str] = []

    class Documents(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            searched.append(query)
            return [Document(page_content="slate-finch", id="archived")]

    class Nodes(NodeRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            searched.append(query_bundle.query_str)
            return [NodeWithScore(node=TextNode(text="slate-finch", id_="archived"), score=1.0)]

    monkeypatch.setenv("PSS_HOME", str(tmp_path))
    monkeypatch.setattr(Settings, "_llm", MockLLM())
    compile_it, langchain, llama_index = blocks(README, "python")
    scope: dict[str, Any] = {}
    exec(compile_it, scope)
    assert "ckpt-1177" in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(langchain, scope | {"your_retriever": Documents()})
        exec(llama_index, scope | {"your_retriever": Nodes()})
    scope["manager"].close()
    # By each face with the query, then with what its state adds.
    assert ["v1.9.0" in query for query in searched] == [False, True] * 2


def test_belief_commands_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = blocks(README, "console")
    monkeypatch.setenv("PSS_HOME", str(tmp_path))
    monkeypatch.setenv("PSS_PRINCIPAL", "user:ada")
    monkeypatch.setenv("COLUMNS", "200")
    check_session(shown)
