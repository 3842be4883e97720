"""Small invented texts and questions in the form in which LongBench, InfiniteBench and UltraDomain are published."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]

PLACES = ("Ostrell", "Quenby", "Marlock", "Tavish", "Virrin", "Halgrove", "Sundrey", "Pellow", "Corvane", "Lithmoor")
KEEPERS = (
    "Abelard",
    "Brunhild",
    "Casimir",
    "Dorothea",
    "Engelbert",
    "Floriane",
    "Gaspard",
    "Hildegund",
    "Isidor",
    "J\u00f8rn",
)
_PADDING = "Gulls circled over the grey water while rain came in from the west and nobody spoke for an hour. " * 8


def book(number: int) -> str:
    """Three facts, far enough apart to be in three passages."""
    place, keeper = PLACES[number], KEEPERS[number]
    facts = (
        f"The lighthouse of {place} was tended by {keeper} for a whole generation.",
        f"In the harbour of {place} lay a schooner with {number + 40} barrels of salted herring.",
        f"Every winter the bell of {place} was painted in a shade called dusk{number}violet.",
    )
    return "\n\n".join(f"{fact}\n{_PADDING}" for fact in facts)


def questions(number: int) -> list[tuple[str, str]]:
    place = PLACES[number]
    return [
        (f"Who tended the lighthouse of {place}?", KEEPERS[number]),
        (f"How many barrels did the schooner of {place} carry?", str(number + 40)),
        (f"In which shade was the bell of {place} painted?", f"dusk{number}violet"),
    ]


def longbench(question: str, answers: list[str], context: str, dataset: str = "narrativeqa", **more: Any) -> Record:
    length = len(f"{question} {context} {' '.join(answers)}".split())
    names = {"input": question, "context": context, "answers": answers, "length": length, "dataset": dataset}
    return {**names, "language": "en", "all_classes": None, "_id": question, **more}


def infinitebench(number: int, question: str, answer: str, context: str, options: Iterable[str] = ()) -> Record:
    return {"id": number, "context": context, "input": question, "answer": [answer], "options": list(options)}


def ultradomain(question: str, answer: str, context: str, title: str, label: str = "fin", **more: Any) -> Record:
    meta = {"title": title, "authors": "nobody"}
    names = {"input": question, "context": context, "dataset": "ultradomain", "label": label, "answers": [answer]}
    return {**names, "length": len(context.split()), "context_id": title, "_id": question, "meta": meta, **more}


def books(count: int = len(PLACES)) -> list[Record]:
    """LongBench's NarrativeQA: a text comes again with each of its questions."""
    return [longbench(*one, book(number)) for number in range(count) for one in _with_list(number)]


def passages(*documents: tuple[str, str]) -> str:
    """Several documents as one context, as LongBench's multi-document tasks have them."""
    parts = (f"Passage {number}:\n{title}\n{text}" for number, (title, text) in enumerate(documents, 1))
    return "\n\n".join(parts)


def write(file: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return file


def _with_list(number: int) -> list[tuple[str, list[str]]]:
    return [(question, [answer]) for question, answer in questions(number)]
