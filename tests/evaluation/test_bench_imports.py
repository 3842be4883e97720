import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import bench_imports
from pss_integrations.evaluation.bench_imports import IMPORTS, Imported


@pytest.mark.parametrize(
    ("name", "heavy"),
    [("package", ()), ("langchain", ()), ("states", ()), ("beliefs", ("sqlalchemy",))],
)
def test_nothing_heavy_is_loaded_that_is_not_used(name: str, heavy: tuple[str, ...]) -> None:
    assert Imported.of(IMPORTS[name]).heavy == heavy


def test_llama_index_brings_more_but_its_face_adds_nothing_to_it() -> None:
    alone, face = Imported.of(IMPORTS["llama_index_core_alone"]).heavy, Imported.of(IMPORTS["llama_index"]).heavy
    assert face == alone
    assert "torch" not in face


@pytest.mark.parametrize("face", ["langchain", "llama_index"])
def test_a_face_loads_beliefs_when_they_are_asked_for(face: str) -> None:
    code = f"{IMPORTS[face]}; import sys; assert 'pss_integrations.beliefs.store' not in sys.modules; "
    Imported.of(f"{code} from pss_integrations.{face} import BeliefStateMemory; assert BeliefStateMemory")


def test_an_import_that_fails_is_said() -> None:
    with pytest.raises(InvalidInput, match=r"'import no_such_thing' failed: ModuleNotFoundError"):
        Imported.of("import no_such_thing")


def test_each_import_has_its_times_and_what_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_imports, "IMPORTS", {"package": IMPORTS["package"], "numbers": "import numpy"})
    told = list[str]()
    found = bench_imports.bench_imports(quick=True, tell=told.append)
    assert told == ["a first round, which does not count", "round 1", "round 2", "round 3"]
    assert {name: one["heavy"] for name, one in found.items()} == {"package": [], "numbers": ["numpy"]}
    assert found["numbers"]["import_ms"]["max"] >= found["numbers"]["import_ms"]["min"] > 0
