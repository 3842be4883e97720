"""The state engine: compile a session once, read clues from its state (PSS, section 2)."""

from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.manager import StateManager
from pss_integrations.states.manifest import StateInfo

__all__ = ["CompileConfig", "StateConfig", "StateInfo", "StateManager"]
