from pathlib import Path

import pytest
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.bench_curves import bench_curves
from pss_integrations.evaluation.bench_plots import check_place, draw_curves, draw_rewriting, save


def test_curves_have_a_point_for_each_size(tmp_path: Path) -> None:
    found = bench_curves(words_backbone, quick=True, tell=lambda _: None)
    assert [point["history_tokens"] for point in found["history"]] == pytest.approx([250, 1000], abs=100)
    assert {point["targets"] for point in found["history"]} == {20}
    assert [point["targets"] for point in found["targets"]] == [5, 20]
    assert [(one["sessions"], one["targets"], one["confirmed"]) for one in found["sessions"]] == [(1, 5, 1), (4, 5, 4)]
    assert set(found["several_sessions"]) == {"4x5"}
    save(draw_curves, found, plot := tmp_path / "curves.svg")
    assert all(label in plot.read_text() for label in ("<svg", "sessions of 5 targets"))


def test_reads_and_rewriting_are_drawn_over_the_history(tmp_path: Path) -> None:
    time = {"median": 2.0, "min": 1.0, "max": 4.0}
    times = {"rewrite_ms": time, "read_ms": time, "read_drafted_ms": time}
    result = {"by_length": [{"history_tokens": tokens, **times} for tokens in (500, 2000)]}
    save(draw_rewriting, result, plot := tmp_path / "rewriting.png")
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "message"), [("plot.xyz", r"must end in \.svg"), ("no/plot.svg", "no directory")])
def test_a_plot_that_cannot_be_written_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_place(tmp_path / name)


def test_a_plot_in_the_way_of_a_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "plot.svg").mkdir()
    with pytest.raises(InvalidInput, match="cannot write"):
        save(draw_rewriting, {"by_length": []}, tmp_path / "plot.svg")
