"""The state engine: compile a session once, read clues from its state (PSS, section 2).

The names below are loaded when they are first used: who makes cards needs nothing but a few words of this package.
"""

from typing import TYPE_CHECKING

from pss_integrations.lazy import lazily

if TYPE_CHECKING:
    from pss_integrations.states.config import CompileConfig, StateConfig
    from pss_integrations.states.field_targets import FieldTargets
    from pss_integrations.states.growth import BackgroundCompiler, CompileStatus, GrowthPolicy
    from pss_integrations.states.history_targets import HistoryTargets
    from pss_integrations.states.manager import StateManager
    from pss_integrations.states.manifest import StateInfo
    from pss_integrations.states.sync import SyncReport
    from pss_integrations.states.targets import CallableTargets, ExplicitTargets, TargetBuilder
    from pss_integrations.states.update import StateUpdate

_HOMES = {
    "BackgroundCompiler": "growth",
    "CallableTargets": "targets",
    "CompileConfig": "config",
    "CompileStatus": "growth",
    "ExplicitTargets": "targets",
    "FieldTargets": "field_targets",
    "GrowthPolicy": "growth",
    "HistoryTargets": "history_targets",
    "StateConfig": "config",
    "StateInfo": "manifest",
    "StateManager": "manager",
    "StateUpdate": "update",
    "SyncReport": "sync",
    "TargetBuilder": "targets",
}

__all__ = [
    "BackgroundCompiler",
    "CallableTargets",
    "CompileConfig",
    "CompileStatus",
    "ExplicitTargets",
    "FieldTargets",
    "GrowthPolicy",
    "HistoryTargets",
    "StateConfig",
    "StateInfo",
    "StateManager",
    "StateUpdate",
    "SyncReport",
    "TargetBuilder",
]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
