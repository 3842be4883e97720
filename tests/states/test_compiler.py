"""The compiler against PEFT, against itself, and against what it must not do."""

from dataclasses import replace

import pytest
import torch
from tiny import FAMILIES, MESSAGES, TARGETS, tiny_backbone

from pss_integrations.evaluation.peft_reference import PeftLoop
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import CompileProgress, Compiler
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.history import history_windows
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.optimizer import initial_vector
from pss_integrations.states.reader import decode, prompt_tokens
from pss_integrations.states.split import SplitModel
from pss_integrations.states.steps import finish
from pss_integrations.types import ClueTarget, Message

SMALL = StateConfig(rank=4, alpha=8, layers=2)
QUICK = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60)
IDS = torch.arange(40).reshape(2, 20)


def compiler(backbone: Backbone, state: StateConfig = SMALL, config: CompileConfig = QUICK) -> Compiler:
    return Compiler(backbone, LoraBank(backbone.model, state, 1), state, config)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("length", [1, 7, 20])
def test_running_the_upper_layers_apart_changes_nothing(family: str, length: int) -> None:
    """Close, not bitwise: attention over short texts is written out, which sums in another order."""
    backbone = tiny_backbone(family)
    split = SplitModel(backbone, layers=2)
    with torch.no_grad():
        parts = split.logits(split.upper(split.lower(IDS[:, :length])))
        whole = backbone.model(IDS[:, :length]).logits
    torch.testing.assert_close(parts, whole, atol=1e-5, rtol=1e-4)
    assert backbone.model.config._attn_implementation == "sdpa"


def test_running_the_upper_layers_apart_is_bitwise_for_long_texts() -> None:
    backbone = tiny_backbone()
    split = SplitModel(backbone, layers=2)
    ids = torch.arange(600).reshape(2, 300) % 250
    with torch.no_grad():
        assert torch.equal(split.logits(split.upper(split.lower(ids))), backbone.model(ids).logits)


@pytest.mark.parametrize("length", [20, 300])
def test_a_sliding_window_is_kept(length: int) -> None:
    backbone = tiny_backbone("mistral", sliding_window=4)
    split = SplitModel(backbone, layers=2)
    ids = torch.arange(2 * length).reshape(2, length) % 250
    with torch.no_grad():
        parts = split.logits(split.upper(split.lower(ids)))
        torch.testing.assert_close(parts, backbone.model(ids).logits, atol=1e-5, rtol=1e-4)


def test_padding_on_the_right_does_not_change_cached_rows() -> None:
    split = SplitModel(tiny_backbone(), layers=2)
    rows = [[1, 2, 3], [4, 5, 6, 7, 8, 9], [10]]
    for row, hidden in zip(rows, split.lower_rows(rows, batch_size=2), strict=True):
        torch.testing.assert_close(hidden, split.lower(torch.tensor([row]))[0], atol=5e-5, rtol=5e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_adapters_equal_those_of_a_plain_peft_loop_in_fp32(family: str) -> None:
    """Within 2e-5 of weights near 0.2: the same sums are taken in another order (fewer logits, longer rows)."""
    state = replace(SMALL, dtype="float32")
    config = replace(QUICK, history_steps=0, max_epochs=4, min_epochs=4, batch_size=3, margin=1e9)
    targets = [ClueTarget(f"{word}?", f"Heron kit-{i}") for i, word in enumerate("now before owner region".split())]
    backbone = tiny_backbone(family)
    engine = Engine(backbone, state, config, read_lanes=1, resident_bytes=1)
    ours = engine.bank.layout.matrices(finish(engine.compile([], targets)).vector)

    start = engine.bank.layout.matrices(initial_vector(engine.bank.layout, config.seed))
    theirs = PeftLoop(tiny_backbone(family), engine.adapter_config()).run(start, targets, config, epochs=4)
    assert theirs.tensors.keys() == ours.keys()
    for key, matrix in ours.items():
        torch.testing.assert_close(matrix, theirs.tensors[key], atol=2e-5, rtol=0)
        assert not torch.equal(matrix, start[key])


def test_the_same_seed_gives_the_same_state_and_another_does_not() -> None:
    def vector(seed: int) -> torch.Tensor:
        made = compiler(tiny_backbone(), config=replace(QUICK, seed=seed, max_epochs=3))
        return finish(made.compile([], TARGETS)).vector

    assert torch.equal(vector(1), vector(1))
    assert not torch.equal(vector(1), vector(2))


def test_an_early_stop_is_confirmed_by_decoding_what_is_stored() -> None:
    backbone = tiny_backbone()
    bank = LoraBank(backbone.model, SMALL, 2)
    result = finish(Compiler(backbone, bank, SMALL, QUICK).compile([], TARGETS))
    assert result.confirmed
    assert result.reproduced == result.targets == 2
    assert len(result.target_losses) < QUICK.max_epochs
    assert result.vector.dtype == torch.bfloat16
    bank.bind(1, result.vector)
    prompts = [prompt_tokens(backbone, target.request) for target in TARGETS]
    rows = finish(decode(backbone, bank, [1, 1], prompts, 64))
    assert [backbone.decode(row.tokens).strip() for row in rows] == [target.clue for target in TARGETS]


def test_without_enough_epochs_it_says_so(caplog: pytest.LogCaptureFixture) -> None:
    result = finish(compiler(tiny_backbone(), config=replace(QUICK, max_epochs=2)).compile([], TARGETS))
    assert not result.confirmed
    assert "were not reproduced" in caplog.text


def test_conflicting_clues_are_pushed_away_at_the_token_where_they_part() -> None:
    """With the targets alone the lead over the conflicting token is smaller than with negatives."""
    targets = [ClueTarget("now?", "kit-9", ("kit-7",))]

    def lead(weight: float) -> float:
        backbone = tiny_backbone()
        bank = LoraBank(backbone.model, SMALL, 1)
        config = replace(QUICK, history_steps=0, max_epochs=6, min_epochs=6, conflict_weight=weight, conflict_margin=20)
        vector = finish(Compiler(backbone, bank, SMALL, config).compile([], targets)).vector
        bank.bind(0, vector)
        ids = prompt_tokens(backbone, "now?") + backbone.encode(" kit-")
        with torch.no_grad(), bank.use(0):
            logits = backbone.model(torch.tensor([ids])).logits[0, -1]
        return float(logits[backbone.encode("9")[0]] - logits[backbone.encode("7")[0]])

    assert lead(1.0) > lead(0.0)


@pytest.mark.parametrize("stop_after", [0, 1, 3, 10])
def test_an_abandoned_compile_leaves_no_lane_bound(stop_after: int) -> None:
    backbone = tiny_backbone()
    with torch.no_grad():
        base = backbone.model(IDS).logits
    bank = LoraBank(backbone.model, SMALL, 1)
    windows = history_windows(backbone, MESSAGES, length=512)
    work = Compiler(backbone, bank, SMALL, QUICK).compile(windows, TARGETS)
    for _ in range(stop_after):
        next(work)
    work.close()
    assert bank.bound == [False]
    assert not bank.vector(0).any()
    with torch.no_grad():
        assert torch.equal(backbone.model(IDS).logits, base)


def test_progress_is_told_in_order() -> None:
    told: list[CompileProgress] = []
    backbone = tiny_backbone()
    windows = history_windows(backbone, MESSAGES, length=512)
    finish(compiler(backbone).compile(windows, TARGETS, progress=told.append))
    assert [event.stage for event in told][:2] == ["history", "history"]
    assert told[-1].stage == "confirm"
    assert told[-1].reproduced == told[-1].targets == 2


def test_history_alone_lowers_its_loss_and_targets_alone_need_no_history() -> None:
    backbone = tiny_backbone()
    windows = history_windows(backbone, MESSAGES, length=512)
    result = finish(compiler(backbone, config=replace(QUICK, history_steps=8)).compile(windows, []))
    assert result.history_losses[-1] < result.history_losses[0]
    assert result.target_losses == []


# --- windows


def test_a_session_that_fits_is_one_window() -> None:
    backbone = tiny_backbone()
    (window,) = history_windows(backbone, MESSAGES, length=512)
    assert window.past == 0
    assert "user: Heron runs on kit-7" in backbone.decode(window.tokens)


@pytest.mark.parametrize("length", [10, 16, 33])
def test_a_long_session_is_covered_once_and_each_window_attends_to_the_past(length: int) -> None:
    backbone = tiny_backbone()
    whole = history_windows(backbone, MESSAGES, length=10_000_000)[0].tokens
    windows = history_windows(backbone, MESSAGES, length=length)
    supervised = [token for window in windows for token in window.tokens[window.past :]]
    assert tuple(supervised) == whole
    assert all(len(window.tokens) <= length for window in windows)
    assert all(window.past == length - length // 2 for window in windows[1:-1])


def test_a_session_longer_than_the_context_compiles() -> None:
    backbone = tiny_backbone(max_position_embeddings=64)
    windows = history_windows(backbone, [Message("user", "word " * 100)], length=8192)
    assert len(windows) > 1
    result = finish(compiler(backbone).compile(windows, TARGETS))
    assert result.windows == len(windows)


def test_known_messages_are_only_attended_to() -> None:
    backbone = tiny_backbone()
    (window,) = history_windows(backbone, MESSAGES, length=512, known=2)
    assert "moved Heron" in backbone.decode(window.tokens[window.past :])
    assert "runs on" in backbone.decode(window.tokens[: window.past])
    assert "runs on" not in backbone.decode(window.tokens[window.past :])


def test_segments_split_the_history_and_train_their_own_part() -> None:
    backbone = tiny_backbone()
    state = replace(SMALL, segments=3)
    windows = history_windows(backbone, MESSAGES, length=512, segments=3)
    assert [window.segment for window in windows] == [0, 1, 2]
    bank = LoraBank(backbone.model, state, 1)
    fresh = initial_vector(bank.layout, QUICK.seed).bfloat16()
    made = Compiler(backbone, bank, state, replace(QUICK, history_steps=1))
    changed = finish(made.compile(windows[1:2], [])).vector != fresh
    assert changed[bank.layout.segment(1, 4)].any()
    assert not changed[~bank.layout.segment(1, 4)].any()
