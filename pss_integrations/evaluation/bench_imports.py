"""What importing costs, and which heavy packages it brings along, each time in an interpreter of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.bench import Tell, Timing

HEAVY: Final = ("torch", "transformers", "chromadb", "sqlalchemy", "scipy", "matplotlib", "numpy")
IMPORTS: Final = {
    "package": "import pss_integrations",
    "langchain": "from pss_integrations.langchain import GuardedRouterRetriever",
    "langchain_core_alone": "import langchain_core.retrievers",
    "llama_index": "from pss_integrations.llama_index import GuardedRouterRetriever",
    "llama_index_core_alone": "import llama_index.core.base.base_retriever",
    "states": "from pss_integrations.states import StateManager",
    "beliefs": "from pss_integrations.beliefs import BeliefMemory, BeliefStore",
}
"""What is timed, by name; what the frameworks cost by themselves is beside the faces."""

_TIMED: Final = """
import json, sys, time
begun = time.perf_counter()
exec(sys.argv[1])
seconds = time.perf_counter() - begun
print(json.dumps([1000 * seconds, [name for name in sys.argv[2:] if name in sys.modules]]))
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """One import in a fresh interpreter.

    :param milliseconds: What it took, without the start of the interpreter.
    :param heavy: Those of :data:`HEAVY` that are loaded afterwards.
    """

    milliseconds: float
    heavy: tuple[str, ...]

    @classmethod
    def of(cls, statement: str) -> Imported:
        """Run an import statement.

        :raises InvalidInput: If it fails, as it does where an extra is not installed.
        """
        command = [sys.executable, "-c", _TIMED, statement, *HEAVY]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise InvalidInput(f"{statement!r} failed: {run.stderr.strip().splitlines()[-1]}")
        milliseconds, heavy = json.loads(run.stdout.splitlines()[-1])
        return cls(milliseconds, tuple(heavy))


def bench_imports(*, quick: bool, tell: Tell) -> dict[str, Any]:
    """Import each in turn, several times; a first round, which may compile the files, does not count.

    :param quick: Three rounds instead of ten.
    :return: By name, ``import_ms`` and the ``heavy`` packages that are loaded.
    """
    rounds = list[dict[str, Imported]]()
    for number in range((3 if quick else 10) + 1):
        tell(f"round {number}" if number else "a first round, which does not count")
        rounds.append({name: Imported.of(statement) for name, statement in IMPORTS.items()})
    return {
        name: {
            "import_ms": Timing(tuple(one[name].milliseconds for one in rounds[1:])).to_dict(),
            "heavy": [*rounds[0][name].heavy],
        }
        for name in IMPORTS
    }
