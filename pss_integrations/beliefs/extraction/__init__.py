"""Takes beliefs from conversations: by rules, by a model of one's own, or from what the answering model appends."""

from pss_integrations.beliefs.extraction.dates import resolve_date
from pss_integrations.beliefs.extraction.llm import LLMExtractor
from pss_integrations.beliefs.extraction.observation import Answer, Extractor, Gone, NewAliases, Observation
from pss_integrations.beliefs.extraction.remember import remember
from pss_integrations.beliefs.extraction.rules import RuleExtractor
from pss_integrations.beliefs.extraction.sidecar import (
    SIDECAR_PROMPT,
    SidecarExtractor,
    SidecarStripper,
    strip_sidecar,
)

__all__ = [
    "SIDECAR_PROMPT",
    "Answer",
    "Extractor",
    "Gone",
    "LLMExtractor",
    "NewAliases",
    "Observation",
    "RuleExtractor",
    "SidecarExtractor",
    "SidecarStripper",
    "remember",
    "resolve_date",
    "strip_sidecar",
]
