"""What the guard decides by: weights of the features, a threshold, and what they hold for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pss_integrations.errors import InvalidInput
from pss_integrations.routing.features import FEATURES_VERSION, QUERY_FEATURES, Features


class Binding(BaseModel):
    """What a certificate was made for; it holds for nothing else.

    :param index_id: The index: a digest for our own searchers, else the caller's word for it.
    :param engine: Backbone and configuration of the states; ``None`` where no state is read.
    :param settings: What the router tries and how it searches; ``None`` in a certificate holds for any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    index_id: str = Field(min_length=1)
    engine: str | None = None
    settings: str | None = None


class NullCount(BaseModel):
    """How the threshold did on one kind of null when it was set.

    :param sessions: Sessions that were asked, one null each.
    :param activated: How many of them the guard let through.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sessions: int
    activated: int


class Certificate(BaseModel):
    """A guard's settings. One that is calibrated says for what, and how often it may be wrong.

    :param weights: Feature name to weight; a feature that is not named weighs nothing.
    :param bias: Added to the weighed sum.
    :param threshold: The score from which on a candidate is used; ``None`` lets nothing through.
    :param unsupported_below: Support below which the session is said not to hold what the query asks for.
    :param binding: What it was calibrated for; ``None`` for one that is not calibrated.
    :param max_activation: Share of nulls that may activate, at most.
    :param confidence: How sure that is.
    :param nulls: Kind of null to how many there were, and how many activated.
    :param digest: Over everything else, so that a file that was edited is noticed.
    :raises ValidationError: If a feature is not known, or the digest is not that of the content.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    format: Literal["pss-certificate-1"] = "pss-certificate-1"
    features_version: int = FEATURES_VERSION
    weights: Mapping[str, float]
    bias: float = 0.0
    threshold: float | None = 0.0
    unsupported_below: float = 0.0
    binding: Binding | None = None
    max_activation: float | None = Field(default=None, gt=0, lt=1)
    confidence: float | None = Field(default=None, gt=0, lt=1)
    nulls: Mapping[str, NullCount] = Field(default_factory=dict[str, NullCount])
    created_at: datetime | None = None
    digest: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if unknown := sorted({*self.weights} - {*Features.__slots__}):
            raise ValueError(f"unknown features {', '.join(unknown)}")
        if self.digest not in ("", self.content_digest()):
            raise ValueError("its content is not what its digest says: it was edited; calibrate again")
        return self

    @property
    def is_calibrated(self) -> bool:
        """Whether a rate is promised."""
        return self.binding is not None

    @property
    def sees_query_alone(self) -> bool:
        """Whether it decides before anything is searched or generated: it is closed, or weighs the query alone."""
        return self.threshold is None or QUERY_FEATURES.issuperset(
            name for name, weight in self.weights.items() if weight
        )

    def score(self, features: Features) -> float:
        """Weighed sum of the features; it means nothing but that more is better."""
        values = features.to_dict()
        return self.bias + sum(weight * values[name] for name, weight in sorted(self.weights.items()))

    def mismatch(self, binding: Binding | None) -> str | None:
        """Say why it does not hold for this index and engine; ``None`` if it does, or promises nothing."""
        if self.features_version != FEATURES_VERSION:
            return f"was made for version {self.features_version} of the features, this is {FEATURES_VERSION}"
        if self.binding is None:
            return None
        if binding is None:
            return "was calibrated, and the index that is searched has no index_id"
        if self.binding.settings is None:
            binding = binding.model_copy(update={"settings": None})
        if self.binding == binding:
            return None
        return f"was calibrated for {self.binding!r}, not for {binding!r}"

    def content_digest(self) -> str:
        """SHA-256 over everything but the digest."""
        content = json.dumps(self.model_dump(mode="json", exclude={"digest"}), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, with its digest."""
        sealed = self.model_copy(update={"digest": self.content_digest()})
        Path(path).write_text(f"{sealed.model_dump_json(indent=1)}\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read what :meth:`save` wrote.

        :raises InvalidInput: If there is no such file, it was edited, or it is of another format or version.
        """
        try:
            read = cls.model_validate_json(Path(path).read_bytes())
        except (OSError, TypeError, ValidationError) as error:
            raise InvalidInput(f"{path} holds no certificate: {_first(error)}") from error
        if not read.digest:
            raise InvalidInput(f"{path} holds no certificate: it has no digest; calibrate again")
        return read


BUILT_IN: Final = Certificate(
    weights={"refers": 1.0, "asks": 1.0, "scope": -0.5}, threshold=0.5, unsupported_below=0.01
)
"""Heuristic and calibrated for nothing: a query that asks or refers back, and does not rather name its own scope."""


def as_certificate(given: Certificate | str | PathLike[str] | None) -> Certificate:
    """Return a certificate, the one that a file holds, or else the built-in one.

    :raises InvalidInput: As :meth:`Certificate.load`.
    """
    if given is None or isinstance(given, Certificate):
        return given or BUILT_IN
    return Certificate.load(given)


def _first(error: Any) -> str:
    return str(error.errors()[0]["msg"]) if isinstance(error, ValidationError) else str(error)
