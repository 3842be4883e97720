"""The cookbooks are whole: each notebook has its text beside it, was run, and shows nothing of where it was run.

That they run is for nbmake.
"""

import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

COOKBOOKS = Path(__file__).parents[1] / "cookbooks"
NOTEBOOKS = sorted(COOKBOOKS.glob("[0-9][0-9]_*.ipynb"))
OF_A_MACHINE = re.compile(
    r"(?:/(?:home|root|tmp|work|Users|opt|usr|var)/|\b[A-Z]:\\|site-packages|ipykernel_\d|0x[0-9a-f]{8})"
)
OF_A_RUN = re.compile(r"\d%\||it/s\]")  # progress bars

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def texts(output: Any) -> list[str]:
    """All that an output says in words; pictures are left out."""
    if output.output_type == "stream":
        return [output.text]
    return [text for kind, text in output.data.items() if kind.startswith("text/")]


def streams_of(cell: Any) -> list[str]:
    return [output.name for output in cell.outputs if output.output_type == "stream"]


def test_every_notebook_has_its_text_beside_it() -> None:
    written = sorted(path.stem for path in COOKBOOKS.glob("[0-9][0-9]_*.py"))
    assert written == [path.stem for path in NOTEBOOKS]
    assert NOTEBOOKS


def test_the_table_lists_every_notebook_once() -> None:
    table = (COOKBOOKS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\((\d\d_\w+\.ipynb)\)", table)) == [path.name for path in NOTEBOOKS]


@each_notebook
def test_notebook_and_text_are_the_same(path: Path) -> None:
    text = jupytext.read(path.with_suffix(".py"))
    notebook = nbformat.read(path, as_version=4)
    assert [(cell.cell_type, cell.source) for cell in text.cells] == [
        (cell.cell_type, cell.source) for cell in notebook.cells
    ]
    assert notebook.metadata.jupytext.formats == "ipynb,py:percent"


@each_notebook
def test_notebook_was_run_from_its_first_cell_to_its_last(path: Path) -> None:
    assert [cell.execution_count for cell in cells(path)] == list(range(1, len(cells(path)) + 1))
    outputs = [output for cell in cells(path) for output in cell.outputs]
    assert all(len(streams) == len(set(streams)) for streams in map(streams_of, cells(path))), "join what was printed"
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any(output.output_type == "stream" for output in outputs)


@each_notebook
def test_outputs_are_of_no_machine_and_no_single_run(path: Path) -> None:
    for cell in cells(path):
        assert "execution" not in cell.metadata, "strip the times of the cells"
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            for text in texts(output):
                assert not OF_A_MACHINE.search(text)
                assert not OF_A_RUN.search(text)
