"""What is true in one PSS-320 session: the facts that its messages, passages and probes are written from."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from pss_integrations.evaluation import wording
from pss_integrations.evaluation.names import Names
from pss_integrations.types import SessionFields

_SESSIONS_IN_A_ROW = 4  # the period of the categories, so that each meets every domain equally often
_ROLLBACKS = 0.2
_CALIBRATION_EVERY = 5  # of the domains: 4 of 20, so 64 of 320 sessions

Split = Literal["calibration", "test"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration of a project: its names, which the history tells, and what only documents say of it."""

    configuration: str
    version: str
    checkpoint: str
    route: str
    value: str
    score: str
    symptom: str
    restart: str
    training: str

    @property
    def names(self) -> dict[str, str]:
        """The parts that name it, by field name."""
        return {name: getattr(self, name) for name in ("configuration", "version", "checkpoint", "route")}


@dataclass(frozen=True)
class Facts:
    """The facts of one session; ``old`` was in force first, ``new`` is in force now."""

    domain: str
    split: Split
    project: str
    component: str
    purpose: str
    owner: str
    deputy: str
    date: str
    setting: str
    metric: str
    fallback: str
    bystander: str
    bystander_version: str
    old: Configuration
    new: Configuration

    def write(self, template: str) -> str:
        """Fill a template of the wording files."""
        return template.format_map(vars(self))

    @property
    def fields(self) -> SessionFields:
        """The facts in the form that a caller of the library would give."""
        return SessionFields(
            project=self.project,
            component=self.component,
            active=self.new.names,
            archived=self.old.names,
            other={"owner": self.owner, "date": self.date},
        )


def draw_facts(index: int, names: Names, rng: Random) -> Facts:
    """Draw the facts of the session at ``index``; neighbouring sessions share a domain, and no name."""
    vocabulary = wording.load("domains")
    domains = vocabulary["domain"]
    domain = domains[index // _SESSIONS_IN_A_ROW % len(domains)]
    setting = rng.choice(vocabulary["setting"])
    old, new = _draw_configurations(domain, setting["unit"], names, rng)
    return Facts(
        domain=domain["name"],
        split="calibration" if domains.index(domain) % _CALIBRATION_EVERY == 0 else "test",
        project=names.project(),
        component=rng.choice(domain["components"]),
        purpose=rng.choice(domain["purposes"]),
        owner=names.person(),
        deputy=names.person(),
        date=names.date(),
        setting=setting["name"],
        metric=rng.choice(vocabulary["metrics"]),
        fallback=rng.choice(vocabulary["fallbacks"]),
        bystander=names.project(),
        bystander_version=names.version(),
        old=old,
        new=new,
    )


def _draw_configurations(domain: dict[str, Any], unit: str, names: Names, rng: Random) -> list[Configuration]:
    values = rng.sample(range(8, 97), 2)
    minutes = rng.sample(range(3, 58), 2)
    symptoms = rng.sample(domain["symptoms"], 2)
    return [
        Configuration(
            configuration=names.configuration(),
            version=version,
            checkpoint=names.checkpoint(),
            route=names.route(),
            value=f"{value} {unit}",
            score=f"{rng.randrange(610, 990) / 10} percent",
            symptom=symptom,
            restart=f"{restart} minutes",
            training=f"{rng.randrange(5, 80)} hours",
        )
        for version, value, symptom, restart in zip(_draw_versions(names, rng), values, symptoms, minutes, strict=True)
    ]


def _draw_versions(names: Names, rng: Random) -> list[str]:
    # Some moves are roll-backs, so that the higher number is no sign of what is in force.
    rollback = rng.random() < _ROLLBACKS
    return sorted((names.version(), names.version()), key=_numbers, reverse=rollback)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.removeprefix("v").split(".")]
