"""Runs a scenario through both faces: the query alone, the session's state, and another session's state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pss_integrations import langchain, llama_index
from pss_integrations.demo.scenario import Question, Scenario, Session
from pss_integrations.evaluation.metrics import mean_at_k
from pss_integrations.retrieval.bm25 import BM25Index
from pss_integrations.states import StateInfo, StateManager
from pss_integrations.states.compiler import CompileProgress
from pss_integrations.types import Composition, Routed, SessionKey

if TYPE_CHECKING:
    from langchain_core.documents import Document


@dataclass(frozen=True, slots=True)
class Reading:
    """What a state made of a question: the router's decision, and the ids it found."""

    route: str
    reason: str
    clue: str | None
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, and what each way of searching found for it.

    :param raw: Ids that the query alone finds.
    :param right: With the session's own state, through LangChain.
    :param llama_index: Ids that LlamaIndex's face finds with the same state.
    :param wrong: With the state of another session.
    """

    session: SessionKey
    question: Question
    raw: tuple[str, ...]
    right: Reading
    llama_index: tuple[str, ...]
    wrong: Reading


@dataclass(frozen=True, slots=True)
class Result:
    """What a run showed.

    :param states: Manifests of what was compiled.
    :param seconds: Seconds that went into ``compile`` (all states) and ``read`` (one routed search, on average).
    """

    scenario: Scenario
    k: int
    composition: Composition
    states: tuple[StateInfo, ...]
    answered: tuple[Answered, ...]
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def faces_agree(self) -> bool:
        """Whether LangChain and LlamaIndex returned the same documents for every question."""
        return all(one.right.found == one.llama_index for one in self.answered)

    def score(self, found: Callable[[Answered], tuple[str, ...]]) -> float:
        """Mean of the scenario's metric over all questions, for one way of searching."""
        results = [(found(one), one.question.evidence) for one in self.answered]
        return mean_at_k(self.scenario.metric, results, self.k).value


def run(
    scenario: Scenario,
    manager: StateManager,
    *,
    k: int,
    composition: Composition = "append",
    progress: Callable[[Session], Callable[[CompileProgress], None]],
) -> Result:
    """Compile the scenario's sessions and ask their questions.

    :param k: How many documents are returned and judged.
    :param composition: How a clue meets the query.
    :param progress: Called with each session before it is compiled; what it returns is told how far that is.
    """
    started = time.perf_counter()
    states = tuple(
        manager.compile(session.key, session.messages, targets=session.targets, progress=progress(session))
        for session in scenario.sessions
    )
    compiled = time.perf_counter()
    faces = _Faces(BM25Index(scenario.passages), manager, k, composition)
    answered = tuple(_answers(scenario, faces))
    seconds = {"compile": compiled - started, "read": faces.seconds / len(answered)}
    return Result(scenario, k, composition, states, answered, seconds)


def _answers(scenario: Scenario, faces: _Faces) -> Iterator[Answered]:
    sessions = scenario.sessions
    for session, other in zip(sessions, sessions[1:] + sessions[:1], strict=True):
        for question in session.questions:
            yield faces.answer(session.key, other.key, question)


class _Faces:
    """The routers of both frameworks around one index."""

    def __init__(self, index: BM25Index, manager: StateManager, k: int, composition: Composition) -> None:
        self.seconds = 0.0
        self._index, self._k = index, k
        self._langchain = langchain.GuardedRouterRetriever(
            retriever=index, manager=manager, k=k, composition=composition
        )
        self._llama_index = llama_index.GuardedRouterRetriever(
            index, manager, similarity_top_k=k, composition=composition
        )

    def answer(self, key: SessionKey, wrong: SessionKey, question: Question) -> Answered:
        started = time.perf_counter()
        right = self._read(key, question.query)
        self.seconds += time.perf_counter() - started
        nodes = self._llama_index.bind(user_id=key.user_id, session_id=key.session_id).retrieve(question.query)
        return Answered(
            session=key,
            question=question,
            raw=tuple(hit.doc_id for hit in self._index.search(question.query, self._k)),
            right=right,
            llama_index=tuple(node.node_id for node in nodes),
            wrong=self._read(wrong, question.query),
        )

    def _read(self, key: SessionKey, query: str) -> Reading:
        configurable: dict[str, Any] = {"user_id": key.user_id, "session_id": key.session_id}
        documents = self._langchain.invoke(query, {"configurable": configurable})
        decision = cast("Routed[Document]", self._langchain.last_decision)  # the call above has set it
        clue = decision.clue.text if decision.clue else None
        return Reading(decision.route, decision.reason, clue, tuple(str(document.id) for document in documents))
