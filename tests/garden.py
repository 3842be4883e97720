"""A small benchmark in the form of PrecisionMemBench, about a garden."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
GARDEN, KITCHEN = "domain:garden", "domain:kitchen"


def belief(belief_id: str, name: str, scope: str = GARDEN, **fields: Any) -> Record:
    when = "2026-03-01T00:00:00Z"
    return {
        "_id": belief_id,
        "user_id": "test-user",
        "type": "entity",
        "canonical_name": name,
        "aliases": [],
        "content": f"About the {name}.",
        "why_it_matters": "Know it.",
        "scope": [scope],
        "epistemic_status": "active",
        "confidence": 0.9,
        "pinned": False,
        "reinforcement_count": 0,
        "last_reinforced_at": when,
        "user_edited": False,
        "resolved_at": None,
        "superseded_by": None,
        "created_at": when,
        "updated_at": when,
        "change_log": [],
        "provenance": {"session_id": "s", "turn_id": "t", "extracted_at": when, "source_model": "m"},
    } | fields


BELIEFS = [
    belief("compost", "compost_heap", aliases=["compost", "leaf bin"]),
    belief("pond", "pond", aliases=["water garden"]),
    belief("shears", "hedge_shears", pinned=True),
    belief("dill", "dill", KITCHEN),
    belief("mulch", "mulch", epistemic_status="superseded", superseded_by="compost"),
    belief("frogs", "frogs", type="open_question", epistemic_status="exploratory"),
    belief("fence", "fence", type="open_question", epistemic_status="exploratory", pinned=True),
    belief("gate", "gate", type="open_question", pinned=True, resolved_at="2026-04-01T00:00:00Z"),
    belief("feeds", "pond_feeds_frogs", type="relation", relation_type="feeds", participants=["pond", "frogs"]),
    belief("brief", "brevity", "user:universal", type="preference", content="Wants SHORT answers."),
    belief("secret", "compost", user_id="somebody-else", pinned=True, content="Keeps bees."),
]


def case(name: str, query: str, expect: Record, scopes: Sequence[str] = (GARDEN,), **fields: Any) -> Record:
    return {"caseId": name, "category": "Names", "scope": [*scopes], "query": query, "expect": expect, **fields}


def only(*ids: str) -> Record:
    return {"shouldOnlyInclude": [*ids]}


CASES = [
    case(
        "alias",
        "is the leaf bin full?",
        {"relevantBeliefs": only("compost"), "pinnedFacts": {"mustInclude": ["shears"]}},
    ),
    case("scope", "does the dill need water?", {"relevantBeliefs": only()}),
    case("other scope", "does the dill need water?", {"relevantBeliefs": only("dill")}, [KITCHEN, GARDEN]),
    case("past", "spread the mulch", {"relevantBeliefs": only(), "openQuestions": {"mustExclude": ["gate"]}}),
    case(
        "relation",
        "how pond feeds frogs",
        {"relevantBeliefs": only("feeds", "pond"), "openQuestions": only("fence", "frogs")},
    ),
    case("budget", "the compost", {"relevantBeliefs": only(), "pinnedFacts": only()}, budget={"maxBeliefs": 0}),
    case("blank", " ", {"relevantBeliefs": only(), "personaPrelude": {"nonEmpty": True, "contains": ["short"]}}),
    case(
        "others",
        "compost",
        {"personaPrelude": {"mustNotContain": ["BEES"]}, "pinnedFacts": {"mustExclude": ["secret"]}},
    ),
]


def turn(index: int, message: str, expect: Record, **fields: Any) -> Record:
    turns = {"turnIndex": index, "label": "drift", "scope": [GARDEN], "userMessage": message, "assistantMessage": ""}
    return {**turns, "expect": expect, **fields}


SESSION = {
    "caseId": "a day",
    "turns": [
        turn(
            0,
            "the bird bath leaks",
            {"relevantBeliefs": only(), "topicRetrieval": {"shouldRetrieveTurns": []}},
            createBeliefAtTurn=belief("bath", "bird_bath"),
        ),
        turn(
            1,
            "so clean the bird bath and the rotting corner",
            {"relevantBeliefs": {**only("bath"), "pinnedFacts": {"mustInclude": ["shears"]}, "_note": "nested"}},
            updateBeliefAtTurn={"beliefId": "compost", "addAliases": ["rotting corner"], "_note": "confirmed"},
        ),
        turn(
            2,
            "and the rotting corner?",
            {"relevantBeliefs": only("compost"), "noiseCheck": {"mustNotSurface": ["bath", "pond"]}},
        ),
    ],
}


def write(folder: Path, cases: Sequence[Record] = CASES, session: Record = SESSION) -> Path:
    for name, records in (("beliefs", BELIEFS), ("cases", cases), ("session", [session])):
        (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    return folder
