"""What is screened: one change at a time to how states are shaped and written, with states of their own (PSS, D.1)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from pss_integrations.evaluation.controls import StateSource
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.subjects import Subject
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to shape and write states.

    :param name: Its name in tables.
    :param negatives: Whether clue targets keep their conflicting clues.
    """

    name: str
    state: StateConfig = field(default_factory=StateConfig)
    compile: CompileConfig = field(default_factory=CompileConfig)
    negatives: bool = True

    def taught(self, subjects: Sequence[Subject]) -> list[Subject]:
        """Return the subjects with the targets that this variant learns."""
        if self.negatives:
            return list(subjects)
        positives = [tuple(replace(target, conflicts=()) for target in one.targets) for one in subjects]
        return [replace(one, targets=targets) for one, targets in zip(subjects, positives, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


BASELINE: Final = Variant("baseline")
VARIANTS: Final[Mapping[str, Variant]] = {
    one.name: one
    for one in (
        BASELINE,
        # Alpha follows the rank, so that the update's scale stays what it is.
        Variant("rank 16", StateConfig(rank=16, alpha=32.0)),
        Variant("rank 64", StateConfig(rank=64, alpha=128.0)),
        Variant("alpha 32", StateConfig(alpha=32.0)),
        Variant("alpha 128", StateConfig(alpha=128.0)),
        Variant("last 4", StateConfig(layers=4)),
        Variant("last 16", StateConfig(layers=16)),
        Variant("2 segments", StateConfig(segments=2)),
        Variant("no negatives", negatives=False),
    )
}
"""The baseline and what is screened against it, by name."""

Sources: TypeAlias = Callable[[Variant], AbstractContextManager[StateSource]]
"""Opens what writes and reads the states of a variant."""


def states_of(backbone: Backbone, variant: Variant, directory: Path) -> CachedStates:
    """Return the cached states of a variant; those of the default shape lie where they always do.

    :param directory: Where they are kept.
    """
    return CachedStates(backbone, variant.compile, directory, state=variant.state)


def cached_sources(backbone: Backbone, directory: Path) -> Sources:
    """States of one backbone, cached: a screening that was stopped goes on where it was.

    :param directory: Where they are kept.
    """

    @contextmanager
    def opened(variant: Variant) -> Generator[CachedStates]:
        source = states_of(backbone, variant, directory)
        try:
            yield source
        finally:
            source.engine.close()

    return opened
