"""Every error this package raises on purpose.

::

    PSSError
    ├── InvalidInput (ValueError)         an argument, message, target or file that cannot be used
    ├── IdentityError (ValueError)
    │   ├── MissingIdentity               no user_id or no session_id where one is needed
    │   └── IdentityConflict              two sources name different users or sessions
    ├── MissingExtra (ImportError)        an optional package is not installed
    ├── UnsupportedVersion (ImportError)  the installed framework has not got what a module is built on
    ├── BackboneError
    │   ├── WeightsNotFetched             packaged weights are not in the cache yet
    │   ├── WeightsCorrupt                a fetched file is not the one that was published
    │   └── UnsupportedBackbone           the path holds no such model, or one the engine cannot adapt
    ├── StateError
    │   ├── StateNotFound (KeyError)      nothing was compiled for this session
    │   ├── StateMismatch                 compiled for another backbone or another configuration
    │   ├── StateCorrupt                  a stored file is truncated or was altered
    │   ├── HistoryDiverged               messages that were already compiled have changed since
    │   ├── CompileInProgress             another compile of the same session is running
    │   ├── StorageError (OSError)        the state directory cannot be read or written
    │   └── ManagerClosed                 the state manager was closed
    └── BeliefError
        ├── BeliefNotFound (KeyError)     this principal has no belief of that id
        ├── BeliefConflict                changed by somebody else meanwhile, or its name is taken
        ├── AccessDenied                  the actor has no right to these beliefs
        └── BeliefStorageError (OSError)  the database cannot be opened, read or written
"""


class PSSError(Exception):
    """Base of all errors of this package."""


class InvalidInput(PSSError, ValueError):
    """An argument, message, target or file that cannot be used; the text says what would be right."""


class IdentityError(PSSError, ValueError):
    """Base of errors about who is asking, and in which session."""


class MissingIdentity(IdentityError):
    """No user_id or no session_id was given where one is needed."""


class IdentityConflict(IdentityError):
    """Two sources of identity name different users or different sessions."""


class MissingExtra(PSSError, ImportError):
    """An optional package is not installed; the text holds the pip command that installs it."""

    def __init__(self, extra: str, package: str) -> None:
        """Name the extra and the package.

        :param extra: Name of the extra, e.g. ``"states"``.
        :param package: The import that failed, e.g. ``"torch"``.
        """
        super().__init__(f"{package} is not installed. Run: pip install 'pss-integrations[{extra}]'")
        self.extra = extra
        self.package = package


class UnsupportedVersion(PSSError, ImportError):
    """The installed version of a framework has not got what a module is built on; the text says what to use instead."""


class BackboneError(PSSError):
    """Base of errors about the frozen language model."""


class WeightsNotFetched(BackboneError):
    """Packaged weights are not in the cache; the text holds the command that fetches them."""


class WeightsCorrupt(BackboneError):
    """A fetched file does not have the published size or hash."""


class UnsupportedBackbone(BackboneError):
    """The name or path is no model of the kind that is needed, or one whose layers the engine cannot adapt."""


class StateError(PSSError):
    """Base of errors about compiled session states."""


class StateNotFound(StateError, KeyError):
    """Nothing was compiled for this session."""

    def __str__(self) -> str:  # KeyError would print the repr of the text
        return Exception.__str__(self)


class StateMismatch(StateError):
    """The state was compiled for another backbone or with another configuration."""


class StateCorrupt(StateError):
    """A stored file is truncated or was altered after it was written."""


class HistoryDiverged(StateError):
    """Messages that a state was compiled from were edited, removed or reordered since."""


class CompileInProgress(StateError):
    """Another compile of the same session is running, in this process or in another."""


class StorageError(StateError, OSError):
    """The state directory cannot be read or written."""


class ManagerClosed(StateError):
    """The state manager was closed; make a new one."""


class BeliefError(PSSError):
    """Base of errors about beliefs."""


class BeliefNotFound(BeliefError, KeyError):
    """This principal has no belief of that id, whoever else may have one."""

    def __str__(self) -> str:  # KeyError would print the repr of the text
        return Exception.__str__(self)


class BeliefConflict(BeliefError):
    """The belief was changed by somebody else meanwhile, or what it would be called is taken."""


class AccessDenied(BeliefError):
    """The actor has no right to read or write the beliefs of this principal."""


class BeliefStorageError(BeliefError, OSError):
    """The database of beliefs cannot be opened, read or written."""
