"""Deletion: what is left of a session after ``StateManager.delete``, looked for file by file and tensor by tensor.

Nothing here is estimated. Each finding is a count of sessions, and the same look before shows that it can see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pss_integrations.beliefs import BeliefStore, NewBelief, Principal, Provenance
from pss_integrations.errors import InvalidInput, StateCorrupt, StateNotFound
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.evaluation.risks.scan import factor_of, files_of, holding, tensors_holding
from pss_integrations.evaluation.runner import Tell
from pss_integrations.evaluation.subjects import from_pss320
from pss_integrations.states.manager import StateManager
from pss_integrations.states.store import ADAPTER, StateStore

Files = Mapping[str, bytes]
OpenManager = Callable[[Path], StateManager]
"""Opens a manager on a directory, with an empty memory."""

ELSEWHERE: Final[Mapping[str, str]] = {
    "locks": "an empty file stays that is named by a hash of both ids: who knows them can tell that there was a state",
    "beliefs": "are another store's: BeliefStore.erase_all and pssi forget erase them; that they were erased, when and "
    "by whom stays in the log",
    "backups": "a copy of the directory that was made before reads as before once it is put back",
    "exports": "an exported adapter is a file of its own",
    "evaluation cache": "evaluations keep states and clues by content and not by session: remove that directory",
    "the caller's data": "passage indexes, traces and the messages themselves are not the manager's",
}
"""What a deletion does not reach, in words."""
_BELIEFS: Final = "beliefs.db"
_QUERY, _OTHER_QUERY = "what setup are we on right now?", "and what about its route?"
_TARGETS: Final = 4  # what a deletion leaves does not depend on how much was taught


@dataclass(frozen=True, slots=True)
class Victim:
    """A session that was compiled and read, and is to be deleted.

    :param home: Where its manager keeps states, and a belief store beliefs.
    :param texts: What no file of the states may hold afterwards: clues, messages, and each word of its project's name.
    :param factor: The bytes of a matrix of its state.
    """

    manager: StateManager
    home: Path
    session: BenchmarkSession
    texts: tuple[str, ...]
    factor: frozenset[bytes]

    def seen(self) -> dict[str, bool]:
        """Where it can be found."""
        files = {path: content for path, content in files_of(self.home).items() if not path.startswith(_BELIEFS)}
        return {
            "readable": self.read(_QUERY) is not None,
            "text_in_files": bool(holding(files, self.texts)),
            "id_in_files": bool(holding(files, self.ids)),
            "state_in_tensors": tensors_holding(self.factor) > 0,
        }

    @property
    def ids(self) -> list[str]:
        """What names the session and its user."""
        return [one for one in (self.session.key.user_id, self.session.key.session_id) if one]

    def read(self, query: str) -> str | None:
        """The clue for a query; ``None`` if there is no state, or one without its adapter."""
        try:
            return self.manager.read(self.session.key, query).text
        except (StateNotFound, StateCorrupt):
            return None

    def answered_by_memory(self) -> dict[str, bool]:
        """What is answered while the manifest lies there without the adapter: only what memory holds."""
        return {"clue_in_memory": self.read(_QUERY) is not None, "state_in_memory": self.read(_OTHER_QUERY) is not None}

    def beliefs(self) -> dict[str, bool]:
        """Whether the files of the belief store hold a word of its project's name, or its user's id."""
        files = {path: content for path, content in files_of(self.home).items() if path.startswith(_BELIEFS)}
        return {
            "belief_in_files": bool(holding(files, self.session.fields.project.split())),
            "user_in_belief_files": bool(holding(files, self.ids)),
        }


def measure_deletion(
    open_manager: OpenManager, home: Path, sessions: Sequence[BenchmarkSession], tell: Tell
) -> dict[str, Any]:
    """Compile all sessions into one directory, with a belief of each user, and delete all but the first one by one.

    Each victim has two states, and was read, so that its clue and its state lie in memory. After the deletion its
    manifest is put back without the adapter, so that only memory could answer; then with it, as from a backup; and it
    is deleted again.

    :param home: A directory that is empty or not there.
    :return: How many ``sessions`` were deleted and, of these, for how many each finding held ``before`` and ``after``.
        ``left``: files that came with the session and stayed. ``elsewhere``: what a deletion does not reach, in words.
    :raises InvalidInput: If there are fewer than two sessions, or the directory is not empty.
    """
    if len(sessions) < 2:
        raise InvalidInput(f"one session stays, and the others are deleted: give two or more, got {len(sessions)}")
    if home.exists() and any(home.iterdir()):
        raise InvalidInput(f"{home} is not empty, and what is there could be taken for what was left")
    before, after, left = Counter[str](), Counter[str](), list[str]()
    with open_manager(home) as manager, BeliefStore(home / _BELIEFS) as beliefs:
        _compile(manager, home, sessions[0])
        for number, session in enumerate(sessions[1:]):
            tell("deleting sessions", number, len(sessions) - 1)
            others = files_of(home)
            victim = _compile(manager, home, session)
            before.update(_counts(_before(victim, beliefs)))
            after.update(_counts(_delete(victim, beliefs, others)))
            left += sorted(_paths(files_of(home)) - _paths(others))
    return {
        "sessions": len(sessions) - 1,
        "before": dict(before),
        "after": dict(after),
        "left": left,
        "elsewhere": dict(ELSEWHERE),
    }


def _compile(manager: StateManager, home: Path, session: BenchmarkSession) -> Victim:
    """Write two states, one after the other, and read the second."""
    (subject,) = from_pss320([session])
    manager.compile(session.key, subject.messages, targets=subject.targets[: _TARGETS // 2])
    manager.compile(session.key, subject.messages, targets=subject.targets[:_TARGETS])
    manager.read(session.key, _QUERY)
    told = [message.text for message in subject.messages if session.fields.project in message.text]
    texts = (*(target.clue for target in subject.targets[:_TARGETS]), *told, *session.fields.project.split())
    factor = factor_of(StateStore(home).directory(session.key) / ADAPTER)
    return Victim(manager, home, session, texts, frozenset(factor))


def _before(victim: Victim, beliefs: BeliefStore) -> dict[str, bool]:
    """Where it can be found, now that a belief about it was put down, too."""
    fields = victim.session.fields
    belief = NewBelief(
        type="decision",
        canonical_name="current_setup",
        content=f"{fields.project} runs on {' '.join(fields.active.values())}.",
        scopes=("project:current",),
        provenance=Provenance(source="user"),
    )
    beliefs.put(_owner(victim), belief)
    adapter = StateStore(victim.home).directory(victim.session.key) / ADAPTER
    content = adapter.read_bytes()
    adapter.unlink()
    found = victim.answered_by_memory()
    adapter.write_bytes(content)
    return {**victim.seen(), **found, **victim.beliefs()}


def _delete(victim: Victim, beliefs: BeliefStore, others: Files) -> dict[str, bool]:
    """Delete it, put it back in parts, delete it again, erase the belief, and look each time."""
    whole, clue = files_of(victim.home), victim.read(_QUERY)
    came = {path: whole[path] for path in _paths(whole) - _paths(others)}
    victim.manager.delete(victim.session.key)
    once = victim.seen()
    _put_back(victim.home, {path: content for path, content in came.items() if not path.endswith(ADAPTER)})
    from_memory = victim.answered_by_memory()
    _put_back(victim.home, came)
    backup_reads = victim.read(_QUERY) == clue
    victim.manager.delete(victim.session.key)
    twice = victim.seen()
    belief_stays = victim.beliefs()["belief_in_files"]
    beliefs.erase_all(_owner(victim))
    now = files_of(victim.home)
    return {
        **{name: held or twice[name] for name, held in once.items()},
        **from_memory,
        **victim.beliefs(),
        "others_changed": any(now.get(path) != others[path] for path in _paths(others)),
        "backup_reads": backup_reads,
        "belief_stays_until_erased": belief_stays,
    }


def _owner(victim: Victim) -> Principal:
    return Principal.user(victim.session.key.user_id or "nobody")


def _paths(files: Files) -> set[str]:
    """Paths of all files but those of the belief store."""
    return {path for path in files if not path.startswith(_BELIEFS)}


def _put_back(home: Path, files: Files) -> None:
    for path, content in files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)


def _counts(found: Mapping[str, bool]) -> dict[str, int]:
    return {name: int(held) for name, held in found.items()}
