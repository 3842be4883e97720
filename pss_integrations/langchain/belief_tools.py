"""Tools by which an agent looks into the beliefs of its user, and changes them when the user says so."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pss_integrations.beliefs.aware import Caller
from pss_integrations.beliefs.escaping import excerpt
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.schema import Belief, Correction, NewBelief, Provenance
from pss_integrations.beliefs.search import BeliefHit
from pss_integrations.beliefs.store import BeliefStore
from pss_integrations.errors import BeliefError, BeliefNotFound, InvalidInput
from pss_integrations.langchain.belief_identity import BeliefAware

_MAX_NAME, _MAX_CONTENT = 80, 400


class SearchBeliefs(BaseModel):
    """Arguments of the tool that searches."""

    query: str = Field(description="What to look for, by name: 'cache', 'deploy target', 'Postgres'.")


class ManageBelief(BaseModel):
    """Arguments of the tool that changes a belief."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["add", "correct", "retract", "pin", "resolve"] = Field(
        description=(
            "add: keep something new. correct: change its text or names. retract: take it back. "
            "pin: always recall it, or no longer. resolve: close an open question, or decide about a belief that "
            "contradicts another one."
        )
    )
    belief_id: str | None = Field(None, description="Its id in square brackets; for all but add.")
    type: Literal["preference", "decision", "entity", "open_question"] | None = Field(None, description="For add.")
    name: str | None = Field(None, description="What it is about, in a word or a few: redis_cache. For add, correct.")
    content: str | None = Field(None, description="What holds, in one short sentence. For add, correct.")
    aliases: list[str] | None = Field(None, description="Other words for it. For add, correct.")
    why_it_matters: str | None = Field(None, description="What to do because of it. For add, correct.")
    pinned: bool = Field(True, description="false to unpin. For pin.")
    accept: bool = Field(True, description="Whether it takes the place of the one it contradicts. For resolve.")

    @model_validator(mode="after")
    def _has_what_its_action_needs(self) -> Self:
        needed = ("type", "name", "content") if self.action == "add" else ("belief_id",)
        if missing := [name for name in needed if getattr(self, name) is None]:
            raise ValueError(f"{self.action} needs {', '.join(missing)}")
        return self


def create_search_belief_tool(
    memory: BeliefMemory,
    *,
    principal: Principal | None = None,
    context: Mapping[str, str] | None = None,
    k: int = 10,
    name: str = "search_beliefs",
) -> BaseTool:
    """Make a tool that finds beliefs by name, in the scopes of a memory.

    Whose beliefs they are comes from the call, as for :class:`BeliefStateMemory`, and never from the model. An error is
    told to the model, but for a missing identity, which raises.

    :param principal: As for :class:`BeliefStateMemory`.
    :param context: As for :class:`BeliefStateMemory`.
    :param k: The most that are found.
    :param name: Name of the tool.
    """
    beliefs = BeliefAware(memory=memory, principal=principal, context=context or {})

    def search(query: str, config: RunnableConfig) -> str:
        with _Access.of(beliefs, config) as access:
            return access.search(query, k)

    return _tool(
        search,
        SearchBeliefs,
        name,
        "Search what the user has settled in earlier conversations: preferences, decisions, entities, open questions.",
    )


def create_manage_belief_tool(
    memory: BeliefMemory,
    *,
    principal: Principal | None = None,
    context: Mapping[str, str] | None = None,
    name: str = "manage_belief",
) -> BaseTool:
    """Make a tool that adds, corrects, takes back, pins and resolves beliefs, in the scopes of a memory.

    What the model adds counts as inferred, and what it adds against a belief waits for a decision. The other actions
    count as the user's, and the tool's description says so to the model; where that is not enough, have a person
    approve its calls, e.g. by LangChain's ``HumanInTheLoopMiddleware``. Identity and errors are as for
    :func:`create_search_belief_tool`.

    :param principal: As for :class:`BeliefStateMemory`.
    :param context: As for :class:`BeliefStateMemory`.
    :param name: Name of the tool.
    """
    beliefs = BeliefAware(memory=memory, principal=principal, context=context or {})

    def manage(config: RunnableConfig, **change: Any) -> str:
        with _Access.of(beliefs, config) as access:
            return access.change(ManageBelief(**change))

    return _tool(
        manage,
        ManageBelief,
        name,
        "Change what is kept from conversation to conversation. Add what will still matter later. "
        "Correct, retract, pin or resolve only what the user asked for.",
    )


def _tool(work: Callable[..., str], arguments: type[BaseModel], name: str, description: str) -> BaseTool:
    return StructuredTool.from_function(
        work,
        name=name,
        description=description,
        args_schema=arguments,
        handle_tool_error=True,
        handle_validation_error=_invalid,
    )


@dataclass(frozen=True, slots=True)
class _Access:
    """The beliefs of one caller, in some scopes."""

    store: BeliefStore
    caller: Caller
    scopes: tuple[str, ...]

    @classmethod
    @contextmanager
    def of(cls, beliefs: BeliefAware, config: RunnableConfig) -> Generator[Self]:
        """Open it for one call; what goes wrong then is told to the model."""
        caller = beliefs.caller(config)
        try:
            yield cls(beliefs.memory.store, caller, beliefs.memory.scopes(caller.context))
        except (BeliefError, InvalidInput) as error:
            raise ToolException(str(error)) from error

    def search(self, query: str, k: int) -> str:
        hits = self.store.search(self.caller.principal, self.scopes, query, k=k, actor=self.caller.actor)
        return "\n".join(map(self._found, hits)) or "No belief has a name that stands in the query."

    def change(self, change: ManageBelief) -> str:
        if change.action == "add":
            return self._add(change)
        principal, actor = self.caller.principal, self.caller.actor
        belief_id = self._get(change.belief_id or "").id
        match change.action:
            case "correct":
                changed = self.store.correct(principal, belief_id, _correction(change), actor=actor)
                return f"Corrected: {_line(changed)}"
            case "retract":
                return f"Taken back: {_line(self.store.retract(principal, belief_id, actor=actor))}"
            case "pin":
                changed = self.store.pin(principal, belief_id, pinned=change.pinned, actor=actor)
                return f"{'Pinned' if change.pinned else 'Unpinned'}: {_line(changed)}"
            case "resolve":
                changed = self.store.resolve(principal, belief_id, accept=change.accept, actor=actor)
                return f"{'Closed' if changed.resolved_at else 'Holds now'}: {_line(changed)}"

    def _add(self, change: ManageBelief) -> str:
        new = NewBelief.model_validate(
            {
                "type": change.type,
                "canonical_name": change.name,
                "content": change.content,
                "aliases": change.aliases or (),
                "why_it_matters": change.why_it_matters,
                "scopes": self.scopes,
                "provenance": Provenance(source="assistant"),
            }
        )
        result = self.store.put(self.caller.principal, new, actor=self.caller.actor)
        return f"{_OUTCOMES[result.outcome]}: {_line(result.belief)}"

    def _get(self, belief_id: str) -> Belief:
        """A belief by id; one in other scopes is as unknown as one of somebody else."""
        belief = self.store.get(self.caller.principal, belief_id, actor=self.caller.actor)
        if set(self.scopes).isdisjoint(belief.scopes):
            raise BeliefNotFound(f"{self.caller.principal} has no belief {belief_id!r}")
        return belief

    def _found(self, hit: BeliefHit) -> str:
        contesting = [f"  contradicted, until that is resolved, by {_line(self._get(one))}" for one in hit.contested_by]
        return "\n".join([_line(hit.belief), *contesting])


_OUTCOMES = {
    "created": "Kept as inferred",
    "reinforced": "Known already",
    "superseded": "Kept in place of what was on record",
    "contradicted": "Kept, but waits for the user to resolve what it contradicts",
}


def _correction(change: ManageBelief) -> Correction:
    aliases = None if change.aliases is None else tuple(change.aliases)
    return Correction(
        canonical_name=change.name, content=change.content, aliases=aliases, why_it_matters=change.why_it_matters
    )


def _line(belief: Belief) -> str:
    name, content = excerpt(belief.canonical_name, _MAX_NAME)[0], excerpt(belief.content, _MAX_CONTENT)[0]
    pinned = ", pinned" if belief.pinned else ""
    return f"[{belief.id}] {belief.type} {name} — {content} ({belief.epistemic_status}{pinned})"


def _invalid(error: Any) -> str:
    """What is wrong with arguments, without repeating them."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "\n".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found)
