"""The package as a whole: what importing it loads, and what it promises by name."""

import subprocess
import sys

import pytest

import pss_integrations
from pss_integrations import errors

HEAVY = ("torch", "transformers", "peft", "langchain_core", "llama_index", "chromadb")


@pytest.mark.parametrize("module", ["pss_integrations", "pss_integrations.cli", "pss_integrations.routing"])
def test_importing_loads_neither_torch_nor_a_framework(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_public_names_are_sorted_and_there() -> None:
    assert pss_integrations.__all__ == sorted(pss_integrations.__all__)
    assert dir(pss_integrations) == pss_integrations.__all__
    for name in pss_integrations.__all__:
        assert getattr(pss_integrations, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = pss_integrations.absent


def test_every_error_is_drawn_in_the_tree_and_has_the_root() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(error, errors.PSSError) for error in classes)
    assert all(error.__name__ in (errors.__doc__ or "") for error in classes)
    assert str(errors.StateNotFound("said plainly")) == "said plainly"
    assert "pip install 'pss-integrations[states]'" in str(errors.MissingExtra("states", "torch"))
