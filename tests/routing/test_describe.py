import subprocess
import sys

from pss_integrations.routing.describe import describe
from pss_integrations.types import Clue, Routed

FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
MARLOWE = "Marlowe billing"


def test_texts_are_told_only_if_asked_for() -> None:
    clue = Clue(CLUE, (-0.5, -0.25), prompt_tokens=7, state_id="x", finished=True)
    decision = Routed((), "pss", "clue", "append", {"words": 2.0}, clue, MARLOWE, True, False, 3)
    said = describe(decision, FOLLOW_UP, explain=False)
    assert said == {
        "route": "pss",
        "reason": "clue",
        "composition": "append",
        "confidence": -0.375,
        "calibrated": True,
        "supported": False,
        "messages_behind": 3,
        "features": {"words": 2.0},
    }
    texts = {"query": FOLLOW_UP, "clue": CLUE, "card": MARLOWE}
    assert describe(decision, FOLLOW_UP, explain=True) == said | texts
    bare = describe(Routed((), "raw", "no_state"), FOLLOW_UP, explain=True)
    assert (bare["clue"], bare["card"], bare["confidence"]) == (None, None, None)


def test_routing_loads_neither_torch_nor_a_framework() -> None:
    heavy = "{'torch', 'transformers', 'langchain_core', 'llama_index'}"
    code = f"import sys, pss_integrations.routing; sys.exit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
