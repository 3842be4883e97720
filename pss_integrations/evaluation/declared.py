"""The comparisons that are declared before a run of an evaluation, each family corrected by itself."""

from __future__ import annotations

from typing import Final

from pss_integrations.evaluation.record import Family

_CAUSAL: Final = Family(
    question="Does the right state help, and neither a wrong nor a shuffled one?",
    treatment="correct/append",
    controls=["raw", "matched_wrong/append", "shuffled/append"],
    joint=True,
)
_TEXT: Final = Family(
    question="Is it better than text?",
    treatment="correct/append",
    controls=[
        "card/append",
        "target_card/append",
        "user_history",
        "full_history",
        "concatenation",
        "record_rrf",
        "parsed/append",
    ],
)


def _made_families(composition: str, category: str | None) -> tuple[Family, ...]:
    """What is asked of texts that are made for each question."""
    questions = {
        "Is it better than choosing a record, or messages, by their text?": (
            "select_bm25",
            "select_dense",
            "select_messages",
        ),
        "Is it better than rewriting the question without a state?": (
            "rewrite_history",
            "rewrite_base",
            "rewrite_bank",
            "external",
        ),
        "Does what is read depend on the question?": ("fixed_readout", "rewrite_readout"),
    }
    return tuple(
        Family(
            question=question,
            treatment=f"correct/{composition}",
            controls=[f"{name}/{composition}" for name in names],
            category=category,
        )
        for question, names in questions.items()
    )


PSS320_FAMILIES: Final = (
    _CAUSAL,
    _TEXT,
    Family(
        question="Does what the state learned come from both stages?",
        treatment="correct/append",
        controls=["zero/append", "target_only/append", "history_only/append"],
    ),
    Family(
        question="Does the order of the messages matter, where targets are parsed from them?",
        treatment="history_targets/append",
        controls=["reordered/append"],
    ),
    Family(
        question="Does the composition matter?",
        treatment="correct/append",
        controls=["correct/replace", "correct/rrf", "guarded/append"],
    ),
    *_made_families("append", None),
)
K16: Final = "K = 16"
RECORD_FAMILIES: Final = (
    Family(
        question="Does a question pick its record out of sixteen?",
        treatment="correct/replace",
        controls=["concatenation", "record_rrf", "matched_wrong/replace"],
        category=K16,
        joint=True,
    ),
    *_made_families("replace", K16),
)
NEEDS_HISTORY: Final = "needs history"
RECORDED_FAMILIES: Final = (
    *(family.model_copy(update={"category": NEEDS_HISTORY}) for family in (_CAUSAL, _TEXT)),
    *_made_families("append", NEEDS_HISTORY),
)
