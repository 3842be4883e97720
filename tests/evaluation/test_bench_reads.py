"""Measurements of reads on a tiny backbone: what they return, and what they refuse; times are not looked at."""

import pytest
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.bench_concurrency import bench_concurrency
from pss_integrations.evaluation.bench_read import bench_read
from pss_integrations.evaluation.bench_rewriting import bench_rewriting, rewriting_prompt
from pss_integrations.types import Message


def ignore(_: str) -> None:
    """Progress is for people."""


def test_reads_have_each_part_under_its_own_name() -> None:
    found = bench_read(words_backbone, quick=True, tell=ignore)
    assert set(found) == {"ratio_vs_generate", "drafts", "batch", "bind"}
    drafts = found["drafts"]
    assert found["ratio_vs_generate"] == drafts["ratio_vs_generate"] > 0
    assert drafts["queries"] == drafts["queries_with_generate"] == 24
    assert set(drafts["read_ms"]) == {"plain", "drafted", "generate"}
    # in FP32 drafts change nothing, and neither does the way the state is applied
    assert drafts["same_text"] == drafts["same_text_as_generate"] == 1
    assert found["batch"]["ratio_batched_8"] > 0
    assert found["bind"]["mebibytes"] == 44


def test_rewriting_pays_for_the_history_and_reading_does_not() -> None:
    found = bench_rewriting(words_backbone, quick=True, tell=ignore)
    short, long = found["by_length"]
    assert (short["history_tokens"], long["history_tokens"]) == pytest.approx((500, 2000), abs=100)
    assert found["history_tokens"] == long["history_tokens"]
    assert short["prompt_tokens"]["read"] == long["prompt_tokens"]["read"] < 50
    assert long["prompt_tokens"]["rewrite"] > long["history_tokens"]
    assert found["prompt_tokens_saved_percent"] == pytest.approx(
        100 * (1 - long["prompt_tokens"]["read"] / long["prompt_tokens"]["rewrite"]), abs=0.1
    )
    assert 1 <= found["rewrite_new_tokens"] <= 24
    for reads in (found["break_even_reads"], found["break_even_reads_drafted"]):
        assert reads is None or reads >= 1


def test_a_history_that_does_not_fit_is_refused_before_any_work() -> None:
    told = list[str]()
    with pytest.raises(InvalidInput, match="use a backbone with a longer one"):
        bench_rewriting(lambda: words_backbone(context=1024), quick=True, tell=told.append)
    assert not told


def test_the_prompt_of_a_rewriting_holds_history_and_question() -> None:
    backbone = words_backbone()
    prompt = backbone.decode(rewriting_prompt(backbone, [Message("user", " Heron runs on kit-9. ")], "which kit?"))
    assert prompt.startswith("user: Heron runs on kit-9.\n")
    assert prompt.index("Rewrite") < prompt.index("Question: which kit?") < prompt.index("Search query:")


def test_threads_read_beside_a_lock_and_beside_a_compile() -> None:
    found = bench_concurrency(words_backbone, quick=True, tell=ignore)
    assert found["threads"] == 32
    assert found["ratio_vs_lock"] > 0
    during = found["during_a_compile"]
    assert during["reads"] == 10
    assert 0 <= during["mean_steps_before_first_pass"] <= during["most_steps_before_first_pass"] <= 1
    assert during["worst_event_loop_lag_ms"] >= 0
