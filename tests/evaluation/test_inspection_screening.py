import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from oracle import Oracle, State, ZeroStates
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import suites
from pss_integrations.evaluation.controls import StateSource
from pss_integrations.evaluation.inspection.plots import draw_screening
from pss_integrations.evaluation.inspection.screening import Cohort, Screener, pss320_cohorts
from pss_integrations.evaluation.inspection.variants import (
    BASELINE,
    VARIANTS,
    Sources,
    Variant,
    cached_sources,
    states_of,
)
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.suites import Setup
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.types import ClueTarget, Message

BETTER, WORSE, EQUAL = Variant("better"), Variant("worse"), Variant("equal")


class HalfStates(Oracle):
    """Learns every other session."""

    def compile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> State:
        return tuple(targets) if len(targets[0].clue) % 2 else ()


WRITERS: dict[str, type[Oracle]] = {
    "baseline": HalfStates,
    "better": Oracle,
    "worse": ZeroStates,
    "equal": HalfStates,
}


def setup() -> Setup:
    return Setup(Oracle(), {"bm25": suites.bm25}, {}, lambda what, done, total: None)


def screener(sources: Sources | None = None, **told: Callable[..., None]) -> Screener:
    return Screener(replace(setup(), **told), sources or (lambda variant: nullcontext(WRITERS[variant.name]())))


@pytest.fixture(scope="module")
def cohorts() -> tuple[Cohort, Cohort]:
    return pss320_cohorts(setup(), sessions=6, confirm=40, seed=0)


def test_the_best_is_chosen_and_confirmed_on_sessions_that_the_choice_has_not_seen(
    cohorts: tuple[Cohort, Cohort],
) -> None:
    first, second = cohorts
    told = list[str]()
    run = screener(tell=lambda what, done, total: told.append(what))
    found = run.screen([BASELINE, WORSE, BETTER], first)
    assert found.winner == "better"
    means = {name: one["bm25"].mean for name, one in found.scores.items()}
    assert means["worse"] < means["baseline"] < means["better"]
    assert {one.partition(": ")[0] for one in told} == {"baseline", "better", "worse"}
    confirmed = run.confirm(BETTER, BASELINE, second, screened=first)
    one = confirmed.comparisons["bm25"]
    scores = {name: by_searcher["bm25"] for name, by_searcher in confirmed.scores.items()}
    assert one.difference.value == pytest.approx(scores["better"].mean - scores["baseline"].mean)
    assert 0 < one.difference.low <= one.difference.value <= one.difference.high
    assert one.p_holm == one.p_value < 0.05
    assert confirmed.units == len({subject.group for subject in second.subjects}) == 10
    told_as_json = json.loads(json.dumps({**found.to_dict(), **confirmed.to_dict()}))
    assert told_as_json["comparisons"]["bm25"]["difference"]["value"] == one.difference.value
    assert "<svg" in draw_screening(found)


def test_of_equals_the_first_wins_and_the_baseline_needs_no_confirmation(cohorts: tuple[Cohort, Cohort]) -> None:
    first, second = cohorts
    assert screener().screen([BASELINE, EQUAL], first).winner == "baseline"
    assert screener().screen([EQUAL, BASELINE], first).winner == "equal"
    with pytest.raises(InvalidInput, match="nothing to confirm"):
        screener().confirm(BASELINE, BASELINE, second, screened=first)


@pytest.mark.parametrize("variants", [[], [BASELINE], [BASELINE, Variant("baseline", negatives=False)]])
def test_a_choice_needs_two_variants_with_names(variants: list[Variant], cohorts: tuple[Cohort, Cohort]) -> None:
    with pytest.raises(InvalidInput, match="two or more variants"):
        screener().screen(variants, cohorts[0])


def test_a_choice_is_never_confirmed_on_its_own_sessions_or_source_groups(cohorts: tuple[Cohort, Cohort]) -> None:
    first, second = cohorts
    with pytest.raises(InvalidInput, match="session_id"):
        screener().confirm(BETTER, BASELINE, first, screened=first)
    group = first.subjects[0].group
    mixed = Cohort([*second.subjects[1:], replace(second.subjects[0], group=group)], second.indexes)
    with pytest.raises(InvalidInput, match=f"group {group!r}"):
        screener().confirm(BETTER, BASELINE, mixed, screened=first)


@pytest.mark.parametrize(("sessions", "confirm"), [(1, 4), (65, 4), (4, 257)])
def test_there_are_so_many_sessions(sessions: int, confirm: int) -> None:
    with pytest.raises(InvalidInput, match="take 2 to all of them"):
        pss320_cohorts(setup(), sessions=sessions, confirm=confirm, seed=0)


def test_a_confirmation_needs_two_source_groups() -> None:
    with pytest.raises(InvalidInput, match="of one domain"):
        pss320_cohorts(setup(), sessions=2, confirm=4, seed=0)


def test_each_variant_is_one_change_to_the_baseline() -> None:
    plain = BASELINE.to_dict()
    for name, variant in VARIANTS.items():
        assert variant.name == name
        changed = {key for key, value in variant.to_dict().items() if value != plain[key]} - {"name"}
        assert len(changed) == (variant is not BASELINE)
    assert {one.state.scaling for name, one in VARIANTS.items() if name.startswith("rank")} == {BASELINE.state.scaling}


def test_without_negatives_targets_keep_everything_but_their_conflicts(cohorts: tuple[Cohort, Cohort]) -> None:
    subjects = cohorts[0].subjects
    assert BASELINE.taught(subjects) == list(subjects)
    assert any(target.conflicts for one in subjects for target in one.targets)
    for before, after in zip(subjects, VARIANTS["no negatives"].taught(subjects), strict=True):
        assert after.targets == tuple(ClueTarget(one.request, one.clue) for one in before.targets)
        assert replace(after, targets=before.targets) == before


QUICK = CompileConfig(max_epochs=2, max_clue_tokens=12)
TINY = tiny_backbone(num_hidden_layers=9)


def test_states_of_the_default_shape_are_those_of_any_other_run(tmp_path: Path) -> None:
    plain = CachedStates(TINY, QUICK, tmp_path)
    written = plain.compile(MESSAGES, TARGETS)
    variant = states_of(TINY, Variant("quick", compile=QUICK), tmp_path)
    assert variant.describe() == plain.describe()
    assert torch.equal(variant.compile(MESSAGES, TARGETS).vector, written.vector)
    assert len(list(tmp_path.rglob("*.safetensors"))) == 1


@pytest.mark.parametrize(
    "shape", [StateConfig(rank=4, alpha=8.0), StateConfig(alpha=32.0), StateConfig(layers=2), StateConfig(segments=2)]
)
def test_each_shape_has_states_of_its_own_which_are_written_once(tmp_path: Path, shape: StateConfig) -> None:
    CachedStates(TINY, QUICK, tmp_path).compile(MESSAGES, TARGETS)
    sources = cached_sources(TINY, tmp_path)
    vectors = list[torch.Tensor]()
    for _ in range(2):
        with sources(Variant("other", shape, QUICK)) as source:
            vectors.append(source.compile(MESSAGES, TARGETS).vector)
            assert source.describe()["state"] == shape.to_dict()
    assert torch.equal(*vectors)
    assert len(list(tmp_path.rglob("*.safetensors"))) == 2


def test_no_variant_leaves_anything_in_the_model(tmp_path: Path) -> None:
    hooks = [len(module._forward_hooks) for module in TINY.model.modules()]
    with cached_sources(TINY, tmp_path)(BASELINE):
        assert [len(module._forward_hooks) for module in TINY.model.modules()] != hooks
    assert [len(module._forward_hooks) for module in TINY.model.modules()] == hooks


def test_a_screening_that_was_stopped_goes_on_where_it_was(tmp_path: Path, cohorts: tuple[Cohort, Cohort]) -> None:
    first = replace(cohorts[0], subjects=cohorts[0].subjects[:2])
    variants = [Variant("one", compile=QUICK), Variant("two", StateConfig(layers=2), QUICK)]
    plain = cached_sources(TINY, tmp_path)
    opened = list[str]()

    @contextmanager
    def stopping(variant: Variant) -> Generator[StateSource]:
        opened.append(variant.name)
        if len(opened) == 2:
            raise KeyboardInterrupt
        with plain(variant) as source:
            yield source

    with pytest.raises(KeyboardInterrupt):
        screener(stopping).screen(variants, first)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(kept) == 2
    found = screener(plain).screen(variants, first)
    assert {*found.scores} == {"one", "two"}
    assert len(list(tmp_path.rglob("*.safetensors"))) == 4
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
