"""Compiles of a tiny backbone beside a plain PEFT loop, and the loop itself."""

from dataclasses import replace

import pytest
from tiny import MESSAGES, TARGETS
from tiny_words import words_backbone

from pss_integrations.evaluation.bench import new_engine
from pss_integrations.evaluation.bench_compile import Finished, bench_compile, compared
from pss_integrations.evaluation.peft_reference import PeftLoop, PeftReader
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.optimizer import initial_vector

CONFIG = CompileConfig(lr_a=2e-3, lr_b=2e-3, history_steps=1)


def test_the_plain_loop_trains_until_generate_gives_every_clue() -> None:
    backbone = words_backbone()
    engine = new_engine(backbone, CONFIG)
    start = engine.bank.layout.matrices(initial_vector(engine.bank.layout, seed=0))
    run = PeftLoop(words_backbone(), engine.adapter_config()).run_until_confirmed(start, MESSAGES, TARGETS, CONFIG)
    assert run.confirmed
    assert 1 < run.steps < 1 + CONFIG.max_epochs
    reader = PeftReader(words_backbone(), engine.adapter_config(), run.tensors)
    for target in TARGETS:
        assert backbone.decode(reader.read(target.request, 24)).strip() == target.clue


def test_the_plain_loop_gives_up_after_its_last_epoch() -> None:
    engine = new_engine(words_backbone(), CONFIG)
    start = engine.bank.layout.matrices(initial_vector(engine.bank.layout, seed=0))
    loop = PeftLoop(words_backbone(), engine.adapter_config())
    run = loop.run_until_confirmed(start, MESSAGES, TARGETS, replace(CONFIG, history_steps=2, max_epochs=1))
    assert (run.confirmed, run.steps) == (False, 2 + 1)


@pytest.fixture(scope="module")
def result() -> dict:
    return bench_compile(words_backbone, quick=True, tell=lambda _: None, rates=(2e-3,))


def test_steps_are_compared(result: dict) -> None:
    assert result["ratio_vs_peft"] > 0
    assert result["ratio_vs_peft_spread"][0] <= result["ratio_vs_peft"] <= result["ratio_vs_peft_spread"][1]
    assert (result["dtype"], result["batch_size"]) == ("float32", 8)


def test_whole_compiles_are_compared_with_conflicts_and_without(result: dict) -> None:
    found = result["time_to_confirmed"]["session"]
    assert (found["targets"], found["best"]) == (20, "peft_0.002")
    ways = ("ours", "ours_without_conflicts", "peft_0.002")
    assert [found[way]["confirmed"] for way in ways] == [True] * 3
    assert all(found[way]["steps"] > 3 for way in ways)
    seconds = {way: found[way]["seconds"]["median"] for way in ways}
    assert found["ratio_vs_peft"] == pytest.approx(seconds["peft_0.002"] / seconds["ours"], rel=0.1)
    assert found["ratio_vs_peft_without_conflicts"] > 0


def test_a_session_is_compiled_with_the_default_configuration(result: dict) -> None:
    assert result["session"]["targets"] == result["session"]["reproduced"] == 28
    assert result["session"]["confirmed"]
    assert "records_16" not in result


def test_a_recompile_is_compared_with_a_compile_of_all(result: dict) -> None:
    found = result["recompile"]
    assert (found["new_targets"], found["known_targets"]) == (3, 25)
    assert found["confirmed"] == [True] * 3
    assert found["steps"] < found["afresh_steps"]


def test_the_fastest_loop_that_always_confirmed_counts() -> None:
    ours = [Finished(2.0, 20, True), Finished(4.0, 40, True)]
    runs = {
        "ours": ours,
        "ours_without_conflicts": [Finished(1.0, 10, False), Finished(1.0, 10, True)],
        "peft_0.001": [Finished(12.0, 30, True), Finished(8.0, 30, True)],
        "peft_0.002": [Finished(1.0, 30, True), Finished(1.0, 30, False)],
        "peft_0.005": [Finished(90.0, 30, True), Finished(90.0, 30, True)],
    }
    found = compared(runs)
    assert (found["best"], found["ratio_vs_peft"], found["ratio_vs_peft_spread"]) == ("peft_0.001", 4.0, [2.0, 6.0])
    assert found["ratio_vs_peft_without_conflicts"] is None
    assert (found["ours"]["steps"], found["peft_0.002"]["confirmed"]) == (30, False)


def test_without_a_confirmed_loop_there_is_no_ratio() -> None:
    one = [Finished(1.0, 1, True)]
    found = compared({"ours": one, "ours_without_conflicts": one, "peft_0.001": [Finished(1.0, 1, False)]})
    assert (found["best"], found["ratio_vs_peft"]) == (None, None)
