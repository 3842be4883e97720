import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from embedders import WordEmbedder
from garden import BELIEFS, CASES, SESSION, Record, belief, case, only, turn, write
from typer.testing import CliRunner

from pss_integrations import weights
from pss_integrations.beliefs.recall import Recall
from pss_integrations.cli import app
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.precisionmembench import Benchmark, load_benchmark, read_belief
from pss_integrations.evaluation.precisionmembench_record import BeliefRun, run_benchmark
from pss_integrations.evaluation.precisionmembench_replay import Asked, replay
from pss_integrations.evaluation.precisionmembench_verdicts import Verdict, judge, summary


@pytest.fixture
def garden(tmp_path: Path) -> Benchmark:
    return load_benchmark(write(tmp_path))


@pytest.fixture
def asked(garden: Benchmark) -> list[Asked]:
    return [*replay(garden)]


def run(benchmark: Benchmark) -> BeliefRun:
    return run_benchmark(benchmark, WordEmbedder(), lambda text: None)


def test_what_is_as_expected_is_passed(garden: Benchmark) -> None:
    found = run(garden).result()
    assert (found["passed"], found["cases"], found["failed"]) == (11, 11, {})
    assert (found["mean_precision"], found["mean_recall"], found["drift"]) == (1, 1, 0)
    assert found["undefined_precision"] == 5  # scope, past, budget, blank and the first turn
    assert found["categories"] == {"Names": {"passed": 8, "cases": 8}, "Session": {"passed": 3, "cases": 3}}
    assert found["not_run"] == ["a day: turn 0: topicRetrieval"]
    assert found["waiting"] == []


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ({"relevantBeliefs": only("pond")}, "relevantBeliefs: missing pond; relevantBeliefs: too many compost"),
        ({"relevantBeliefs": {"mustInclude": ["pond"]}}, "relevantBeliefs: missing pond"),
        ({"relevantBeliefs": {"mustExclude": ["compost"]}}, "relevantBeliefs: must not hold compost"),
        ({"relevantBeliefs": {"pinnedFacts": {"mustExclude": ["shears"]}}}, "pinnedFacts: must not hold shears"),
        ({"pinnedFacts": {"mustInclude": ["secret"]}}, "pinnedFacts: missing secret"),
        ({"pinnedFacts": {"mustExclude": ["shears"]}}, "pinnedFacts: must not hold shears"),
        ({"openQuestions": {"mustInclude": ["frogs"]}}, "openQuestions: missing frogs"),
        ({"openQuestions": {"mustExclude": ["fence"]}}, "openQuestions: must not hold fence"),
        ({"personaPrelude": {"nonEmpty": False}}, "personaPrelude: not empty"),
        ({"personaPrelude": {"contains": ["Short", "curt"]}}, "personaPrelude: missing curt"),
        ({"personaPrelude": {"mustNotContain": ["answers"]}}, "personaPrelude: must not hold answers"),
        ({"noiseCheck": {"mustNotSurface": ["compost", "pond"]}}, "noiseCheck: surfaced compost"),
        ({"noiseCheck": {"mustNotSurface": ["shears"]}}, "noiseCheck: surfaced shears"),
    ],
)
def test_what_differs_is_said(tmp_path: Path, expect: Record, difference: str) -> None:
    broken = load_benchmark(write(tmp_path, [case("broken", "the compost", expect)]))
    found = summary([judge(one.case, one.recall) for one in replay(broken)])
    assert list(found["failed"]) == ["broken"]
    assert difference in "; ".join(found["failed"]["broken"])
    assert found["passed"] == found["cases"] - 1


@pytest.mark.parametrize(
    "expect",
    [
        {"relevantBelief": only()},
        {"relevantBeliefs": {"shouldInclude": ["pond"]}},
        {"personaPrelude": {"mustContain": ["short"]}},
        {"relevantBeliefs": {"pinnedFacts": {"should": []}}},
    ],
)
def test_an_expectation_that_is_not_known_is_an_error(tmp_path: Path, expect: Record) -> None:
    for cases, session in (
        ([case("odd", "", expect)], SESSION),
        (CASES, {"caseId": "odd", "turns": [turn(0, "", expect)]}),
    ):
        with pytest.raises(InvalidInput, match=r"odd: .*Extra inputs are not permitted"):
            load_benchmark(write(tmp_path, cases, session))


def test_a_limit_or_an_update_that_is_not_known_is_listed(tmp_path: Path) -> None:
    limited = case("limited", "", {}, budget={"maxBeliefs": 3, "maxWords": 9})
    session = {"caseId": "s", "turns": [turn(4, "", {}, updateBeliefAtTurn={"beliefId": "pond", "pin": True})]}
    found = load_benchmark(write(tmp_path, [limited], session)).not_run()
    assert found == ["limited: budget.maxWords", "s: turn 4: updateBeliefAtTurn.pin"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("cases.json", None, "cannot be read"),
        ("session.json", "{", "is no JSON"),
        ("cases.json", "{}", "must hold a list"),
        ("beliefs.json", '[{"_id": "x", "user_id": "u", "type": "hunch"}]', "x: type"),
        ("beliefs.json", json.dumps([belief("x", "x", user_id=None)]), "x: user_id is missing"),
        ("session.json", '[{"caseId": "x", "turns": [{"createBeliefAtTurn": {"_id": "y"}}]}]', "x: turns.0"),
    ],
)
def test_files_that_hold_something_else_are_refused(tmp_path: Path, file: str, text: str | None, message: str) -> None:
    write(tmp_path)
    (tmp_path / file).unlink() if text is None else (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        load_benchmark(tmp_path)


def test_beliefs_stay_what_they_are() -> None:
    _, mulch = read_belief(BELIEFS[4])
    assert (mulch.epistemic_status, mulch.superseded_by, mulch.live) == ("superseded", "compost", False)
    assert (mulch.reinforcement_count, mulch.provenance.source_model) == (1, "m")
    owner, secret = read_belief(BELIEFS[-1])
    assert (str(owner), secret.pinned) == ("user:somebody-else", True)


def verdict(returned: Sequence[str], gold: Sequence[str] | None, noise: tuple[int, int] | None = None) -> Verdict:
    return Verdict("v", "c", (), tuple(returned), None if gold is None else frozenset(gold), noise)


@pytest.mark.parametrize(
    ("returned", "gold", "precision", "recall"),
    [
        ("ab", "ab", 1, 1),
        ("abcd", "ab", 0.5, 1),
        ("a", "ab", 1, 0.5),
        ("", "ab", 0, 0),
        ("a", "", 0, None),
        ("", "", None, None),
        ("a", None, None, None),
    ],
)
def test_precision_is_undefined_only_where_nothing_should_come_and_nothing_does(
    returned: str, gold: str | None, precision: float | None, recall: float | None
) -> None:
    found = verdict(returned, gold)
    assert (found.precision, found.recall) == (precision, recall)


def test_means_leave_out_what_is_undefined_and_count_it() -> None:
    found = summary(
        [verdict("ab", "a"), verdict("", "a"), verdict("", ""), verdict("", None), verdict("a", None, (1, 4))]
    )
    assert (found["mean_precision"], found["undefined_precision"], found["nothing_returned"]) == (0.25, 1, 1)
    assert found["drift"] == 0.25


def test_drift_counts_noise_among_relevant_and_pinned(asked: list[Asked]) -> None:
    last = asked[-1].case
    beliefs = {one.id: one for one in asked[-1].beliefs}
    recalled = Recall((beliefs["shears"],), (beliefs["pond"], beliefs["compost"]), (), ())
    assert judge(last, recalled).drift == pytest.approx(1 / 3)
    assert judge(last, Recall((), (), (), ())).drift == 0


def test_a_turn_is_asked_before_anything_is_learned_from_it(asked: list[Asked]) -> None:
    first, second, third = asked[-3:]
    assert ["bath" in {one.id for one in turn.beliefs} for turn in (first, second, third)] == [False, True, True]
    compost = [next(one for one in turn.beliefs if one.id == "compost") for turn in (second, third)]
    assert ["rotting corner" in one.aliases for one in compost] == [False, True]
    assert compost[1].confirmed


def test_every_method_is_judged_on_every_case_and_kept(garden: Benchmark, tmp_path: Path) -> None:
    found = run(garden)
    folder = found.save(tmp_path / "runs")
    kept = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert list(kept["cases"]) == ["beliefs", "bm25", "minilm", "bm25+minilm"]
    assert {len(cases) for cases in kept["cases"].values()} == {11}
    assert kept["result"] == json.loads(json.dumps(found.result()))
    assert kept["config"]["data"] == garden.digest
    with pytest.raises(InvalidInput, match="never overwritten"):
        found.save(tmp_path / "runs")


def test_the_command_leaves_a_record_and_plots(tmp_path: Path) -> None:
    places = ("--data", str(write(tmp_path)), "--out", str(tmp_path / "runs"))
    done = CliRunner().invoke(app, ["evaluate", "precisionmembench", "--no-dense", "--json", *places])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["passed"] == found["cases"] == 11
    assert list(found["methods"]) == ["beliefs", "bm25"]
    assert {file.name for file in Path(found["folder"]).iterdir()} == {"run.json", "methods.svg", "session.svg"}


def test_the_command_shows_methods_to_people_and_says_what_differed(tmp_path: Path) -> None:
    broken = [case("broken", "the compost", {"relevantBeliefs": only("pond")})]
    places = ("--data", str(write(tmp_path, broken)), "--out", str(tmp_path / "runs"))
    done = CliRunner().invoke(app, ["evaluate", "precisionmembench", "--no-dense", *places])
    assert done.exit_code == 0, done.output
    assert "3 of 4" in done.stdout
    assert "broken: relevantBeliefs: missing pond; relevantBeliefs: too many compost" in done.stderr


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", "precisionmembench", "--no-dense", "--json", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "beliefs.json cannot be read" in json.loads(done.stdout)["error"]["message"]


@pytest.fixture
def published(recorded: Path) -> Benchmark:
    return load_benchmark(recorded / "precisionmembench")


@pytest.mark.data
def test_the_published_cases_are_passed(published: Benchmark) -> None:
    found = run_benchmark(published, None, lambda text: None).result()
    assert found["failed"] == {}
    assert found["passed"] == found["cases"] > 50
    assert (found["mean_precision"], found["drift"]) == (1, 0)
    assert found["methods"]["bm25"]["passed"] < found["passed"]


@pytest.mark.data
@pytest.mark.weights
def test_similarity_passes_fewer_even_if_tuned_on_the_cases(published: Benchmark) -> None:
    from pss_integrations.retrieval import TransformerEmbedder

    weights.fetch("all-minilm-l6-v2")
    found = run_benchmark(published, TransformerEmbedder(), lambda text: None).result()
    for name in ("minilm", "bm25+minilm"):
        assert found["methods"][name]["passed"] < found["passed"], name
        assert found["methods"][name]["mean_precision"] < found["mean_precision"], name
