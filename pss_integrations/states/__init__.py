"""The state engine: compile a session once, read clues from its state (PSS, section 2)."""

from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.states.manager import StateManager
from pss_integrations.states.manifest import StateInfo
from pss_integrations.states.targets import CallableTargets, ExplicitTargets, TargetBuilder

__all__ = [
    "CallableTargets",
    "CompileConfig",
    "ExplicitTargets",
    "FieldTargets",
    "HistoryTargets",
    "StateConfig",
    "StateInfo",
    "StateManager",
    "TargetBuilder",
]
