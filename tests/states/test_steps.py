"""Steps of several sessions in one pass, against the same sessions one after another."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from tiny import FAMILIES, MESSAGES, TARGETS, tiny_backbone

from pss_integrations.states import steps
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import CompileResult
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.scheduler import Scheduler, Work
from pss_integrations.states.steps import Step, finish
from pss_integrations.types import ClueTarget, Message

STATE = StateConfig(rank=4, alpha=8, layers=2, dtype="float32")
IDS = torch.arange(12).reshape(1, 12)
CONFIG = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=5, min_epochs=5, margin=1e9, batch_size=2)
Session = tuple[Sequence[Message], Sequence[ClueTarget]]
SESSIONS: list[Session] = [
    (MESSAGES, TARGETS),
    ([Message("user", "Crane is on deck 4.")], [ClueTarget("where?", "Crane deck 4")]),
    (
        [*MESSAGES, Message("user", "and Wren too")],
        [*TARGETS, ClueTarget("who else?", "Wren"), ClueTarget("which of the old ones?", "kit-7")],
    ),
]


def engine(backbone: Backbone, config: CompileConfig = CONFIG, lanes: int = 3, state: StateConfig = STATE) -> Engine:
    return Engine(backbone, state, config, read_lanes=1, compile_lanes=lanes, resident_bytes=1)


def together(made: Engine, sessions: Sequence[Session]) -> list[CompileResult]:
    scheduler, submitted = Scheduler(at_once=3), threading.Event()

    def hold() -> Work[None]:  # else the first session may be steps ahead before the second is there
        assert submitted.wait(10)
        yield

    try:
        scheduler.submit(hold(), urgent=True)
        futures = [scheduler.submit(made.compile(*session), urgent=False) for session in sessions]
        submitted.set()
        return [scheduler.wait(future) for future in futures]
    finally:
        scheduler.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_sessions_compiled_together_get_the_states_they_get_alone(family: str) -> None:
    """Their optimisers, clipping, order of batches and number of steps are their own."""
    made = engine(tiny_backbone(family))
    alone = [finish(made.compile(*session)) for session in SESSIONS]
    joint = together(made, SESSIONS)
    for one, other in zip(alone, joint, strict=True):
        torch.testing.assert_close(one.vector, other.vector, atol=2e-5, rtol=0)
        assert one.steps == other.steps
        assert one.target_losses == pytest.approx(other.target_losses, rel=1e-3)
    assert not any(made.bank.bound)


def test_segments_and_long_histories_are_compiled_together_as_alone() -> None:
    config = replace(CONFIG, history_window=40, history_steps=2)
    made = engine(tiny_backbone(), config, state=replace(STATE, segments=2))
    windows = {finish(made.compile(*session)).windows for session in SESSIONS}
    assert max(windows) > 2
    assert len(windows) > 1
    alone = [finish(made.compile(*session)) for session in SESSIONS]
    for one, other in zip(alone, together(made, SESSIONS), strict=True):
        assert one.windows == other.windows
        torch.testing.assert_close(one.vector, other.vector, atol=2e-5, rtol=0)


def test_a_session_that_is_done_leaves_the_others_to_go_on() -> None:
    config = replace(CONFIG, max_epochs=60, min_epochs=1, margin=0.5)
    made = engine(tiny_backbone(), config)
    results = together(made, SESSIONS)
    assert all(result.confirmed for result in results)
    assert len({result.steps for result in results}) == len(results)


def test_steps_run_in_one_pass_through_the_adapted_layers() -> None:
    made = engine(tiny_backbone())
    layer = made.backbone.model.model.layers[-1]
    rows: list[int] = []
    handle = layer.register_forward_hook(lambda _, args, output: rows.append(args[0].shape[0]))
    result = together(made, [SESSIONS[0]] * 3)
    handle.remove()
    assert rows.count(3) == 2  # each of the two history steps, of three sessions
    assert rows.count(6) == result[0].steps - 2


def test_a_failing_step_ends_the_sessions_that_were_in_it_and_no_lane_stays_bound() -> None:
    made = engine(tiny_backbone())
    with torch.no_grad():
        base = made.backbone.model(IDS).logits

    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    handle = made.backbone.model.model.layers[3].register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        together(made, SESSIONS)
    handle.remove()
    assert not any(made.bank.bound)
    with torch.no_grad():
        assert torch.equal(made.backbone.model(IDS).logits, base)
    assert len(together(made, SESSIONS)) == 3


def test_gradients_of_a_step_that_failed_do_not_reach_the_one_that_is_run_again() -> None:
    made = engine(tiny_backbone())
    works = [made.compile([], session[1]) for session in SESSIONS[:2]]
    first, second = [step for work in works if isinstance(step := next(work), Step)]
    first.run()
    gradients = {key: leaf.grad.clone() for key, leaf in first.leaves.items()}
    second.lower = second.lower[:, :, :3]  # cannot be joined: the step fails
    with pytest.raises(RuntimeError):
        first.run([second])
    assert not any(leaf.grad.any() for leaf in first.leaves.values())
    first.run()
    assert all(torch.equal(leaf.grad, gradients[key]) for key, leaf in first.leaves.items())
    for work in works:
        work.close()


def test_only_small_steps_are_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine(tiny_backbone())
    works = [made.compile([], session[1]) for session in SESSIONS]
    first, second, third = [step for work in works if isinstance(step := next(work), Step)]
    shapes = [step.lower.shape for step in (first, second, third)]
    padded = sum(shape[0] for shape in shapes) * max(shape[1] for shape in shapes)
    monkeypatch.setattr(steps, "JOINT_POSITIONS", padded)
    assert third.fits([first, second])
    monkeypatch.setattr(steps, "JOINT_POSITIONS", padded - 1)
    assert not third.fits([first, second])
    for work in works:
        work.close()
