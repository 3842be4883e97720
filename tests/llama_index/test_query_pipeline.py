"""Query pipelines, which LlamaIndex had up to 0.12; on later versions only what is said of that."""

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

import llama_index.core
import pytest
from llama_index.core.llms import MockLLM

from pss_integrations.errors import IdentityConflict, PSSError
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import GuardedRouterRetriever, PSSQueryTransformer, PSSTransformRetriever
from pss_integrations.types import SessionKey

MODULE = "pss_integrations.llama_index.query_pipeline"
HAS_PIPELINES = llama_index.core.__version__.startswith("0.12.")
needs_pipelines = pytest.mark.skipif(not HAS_PIPELINES, reason="LlamaIndex has no query pipelines since 0.13")

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"


@pytest.mark.skipif(HAS_PIPELINES, reason="LlamaIndex 0.12 has query pipelines")
def test_without_pipelines_the_module_names_the_workflow() -> None:
    with pytest.raises(ImportError, match="PSSRetrievalWorkflow") as caught:
        importlib.import_module(MODULE)
    assert isinstance(caught.value, PSSError)


@pytest.fixture
def reader(make_reader) -> Any:
    return make_reader({ADA: CLUE})


@pytest.fixture
def wrapped(make_retriever, make_node) -> Any:
    return make_retriever(found={APPENDED: [make_node("x", 0.5)]})


@pytest.fixture(params=[GuardedRouterRetriever, PSSTransformRetriever])
def retriever(request: pytest.FixtureRequest, reader, wrapped) -> Any:
    if request.param is GuardedRouterRetriever:
        return GuardedRouterRetriever(wrapped, reader)
    return PSSTransformRetriever(wrapped, PSSQueryTransformer(reader))


@pytest.fixture
def pipeline() -> Callable[..., Any]:
    from llama_index.core.query_pipeline import QueryPipeline

    def make(**fields: Any) -> Any:
        with pytest.warns(DeprecationWarning, match="QueryPipeline has been deprecated"):
            return QueryPipeline(**fields)

    return make


@pytest.fixture
def component(retriever) -> Any:
    return importlib.import_module(MODULE).PSSQueryComponent(retriever=retriever)


async def run(mode: str, runs: Any, **inputs: Any) -> Any:
    return runs.run(**inputs) if mode == "sync" else await runs.arun(**inputs)


def ids(nodes: list[Any]) -> list[str]:
    return [node.node_id for node in nodes]


@needs_pipelines
@pytest.mark.parametrize("said", [WHO, {"session_id": "s"}, {}])
async def test_the_inputs_say_whose_it_is_or_the_session_around(
    component, pipeline, wrapped, mode: str, said: dict
) -> None:
    made = pipeline(chain=[component])
    with pss_session(**WHO):
        found = await run(mode, made, query_str=FOLLOW_UP, **said)
    assert (ids(found["nodes"]), found["decision"].route, found["decision"].clue) == (["x"], "pss", None)
    assert wrapped.searched[-1] == (mode, APPENDED)


@needs_pipelines
async def test_inputs_alone_are_enough(component, pipeline, mode: str) -> None:
    assert ids((await run(mode, pipeline(chain=[component]), query_str=FOLLOW_UP, **WHO))["nodes"]) == ["x"]


@needs_pipelines
async def test_a_part_may_be_said_once_for_all_runs(component, pipeline, mode: str) -> None:
    component.partial(user_id="ada")
    found = await run(mode, pipeline(chain=[component]), query_str=FOLLOW_UP, session_id="s")
    assert ids(found["nodes"]) == ["x"]


@needs_pipelines
async def test_sources_that_disagree_raise(component, pipeline, mode: str) -> None:
    with pss_session(**WHO), pytest.raises(IdentityConflict, match="the query bundle and pss_session"):
        await run(mode, pipeline(chain=[component]), query_str=FOLLOW_UP, session_id="t")


@needs_pipelines
async def test_texts_are_told_only_where_that_is_asked_for(retriever, pipeline, mode: str) -> None:
    explaining = importlib.import_module(MODULE).PSSQueryComponent(retriever=retriever, explain=True)
    found = await run(mode, pipeline(chain=[explaining]), query_str=FOLLOW_UP, **WHO)
    assert (found["decision"].query, found["decision"].clue) == (FOLLOW_UP, CLUE)


@needs_pipelines
async def test_a_synthesizer_answers_the_original_query(component, pipeline, mode: str) -> None:
    from llama_index.core.query_pipeline import InputComponent
    from llama_index.core.response_synthesizers import get_response_synthesizer

    made = pipeline()
    synthesizer = get_response_synthesizer(llm=MockLLM())
    made.add_modules({"ask": InputComponent(), "search": component, "answer": synthesizer})
    for key in ("query_str", "user_id", "session_id"):
        made.add_link("ask", "search", src_key=key, dest_key=key)
    made.add_link("search", "answer", src_key="nodes", dest_key="nodes")
    made.add_link("ask", "answer", src_key="query_str", dest_key="query_str")
    answer = str(await run(mode, made, query_str=FOLLOW_UP, **WHO))
    assert f"Query: {FOLLOW_UP}\n" in answer
    assert "text x" in answer
    assert CLUE not in answer


@needs_pipelines
async def test_a_bound_retriever_is_a_component_by_itself(retriever, pipeline, wrapped, mode: str) -> None:
    made = pipeline(chain=[retriever.bind(**WHO)])
    assert ids(await run(mode, made, input=FOLLOW_UP)) == ["x"]
    assert wrapped.searched[-1] == (mode, APPENDED)


@needs_pipelines
async def test_the_transformer_is_a_component_by_itself(reader, pipeline, wrapped, mode: str) -> None:
    transformer = PSSQueryTransformer(reader)
    made = pipeline(chain=[transformer, wrapped])
    assert ids(await run(mode, made, query_str=FOLLOW_UP, metadata=WHO)) == ["x"]
    assert transformer.bind(**WHO).as_query_component().run_component(query_str=FOLLOW_UP) == {"query_str": APPENDED}


@needs_pipelines
def test_one_component_works_in_two_event_loops(component, pipeline) -> None:
    made = pipeline(chain=[component])
    for _ in range(2):
        assert ids(asyncio.run(made.arun(query_str=FOLLOW_UP, **WHO))["nodes"]) == ["x"]
