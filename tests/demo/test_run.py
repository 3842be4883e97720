from dataclasses import replace

import pytest
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.cli.demo import print_result
from pss_integrations.demo import run
from pss_integrations.demo.scenario import Question, Scenario, Session
from pss_integrations.evaluation.metrics import all_recall_at_k
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.states.compiler import CompileProgress
from pss_integrations.states.targets import ExplicitTargets
from pss_integrations.types import ClueTarget, Passage, SessionKey

PASSAGES = (
    Passage("new", "Heron kit-9 needs two bolts", "Kits"),
    Passage("old", "Heron kit-7 is retired"),
    Passage("other", "Crane kit-3 floats"),
    Passage("words", "now or before, it says nothing"),
)
CRANE = (ClueTarget("now?", "Crane kit-3"), ClueTarget("before?", "Crane kit-2"))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> run.Result:
    questions = (Question("now?", [{"new"}]), Question("before?", [{"old"}]), Question("And kit-9?", [{"new"}]))
    scenario = Scenario(
        name="tiny",
        targets="given ones",
        sessions=(
            Session(SessionKey("ann", "heron"), MESSAGES, ExplicitTargets(TARGETS), questions),
            Session(SessionKey(None, "crane"), MESSAGES, ExplicitTargets(CRANE)),
        ),
        passages=PASSAGES,
        metric=all_recall_at_k,
        metric_name="All-Recall",
    )
    told: list[CompileProgress] = []
    config = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60)
    state = StateConfig(rank=4, alpha=8, layers=2)
    home = tmp_path_factory.mktemp("home")
    with StateManager(home, backbone=tiny_backbone(), state=state, config=config) as manager:
        made = run.run(scenario, manager, k=1, progress=lambda session: told.append)
    assert told
    return made


def test_own_state_finds_what_the_query_does_not_name(result: run.Result) -> None:
    now, before, named = result.answered
    assert (now.right.clue, before.right.clue) == ("Heron kit-9", "Heron kit-7")
    assert now.right.found == ("new",)
    assert before.right.found == ("old",)
    assert named.right.route == "raw" or named.right.clue


def test_wrong_state_is_the_next_session(result: run.Result) -> None:
    assert result.answered[0].wrong.clue == "Crane kit-3"
    assert result.answered[0].wrong.found == ("other",)
    assert result.score(lambda one: one.wrong.found) < result.score(lambda one: one.right.found)


def test_faces_return_the_same(result: run.Result) -> None:
    assert result.faces_agree
    assert [one.llama_index for one in result.answered] == [one.right.found for one in result.answered]


def test_scores_are_means_over_the_questions(result: run.Result) -> None:
    found = [all_recall_at_k(one.right.found, one.question.evidence, 1) for one in result.answered]
    assert result.score(lambda one: one.right.found) == pytest.approx(sum(found) / 3)
    assert len(result.states) == 2
    assert set(result.seconds) == {"compile", "read"}


def test_people_see_clues_and_evidence(
    result: run.Result, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    print_result(replace(result, seconds={**result.seconds, "load": 0.5}))
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    start = shown.index("now?")
    assert shown[start + 1].startswith("raw missed")
    assert shown[start + 2 : start + 6] == [
        "routed clue Heron kit-9",
        "routed found *new",
        "wrong clue Crane kit-3",
        "wrong missed other",
    ]
    assert any("LangChain and LlamaIndex return the same documents" in line for line in shown)
