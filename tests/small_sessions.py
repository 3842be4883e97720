"""Short benchmark sessions of few targets, for measurements that a tiny backbone has to get through in seconds."""

from pss_integrations.evaluation.pss320 import BenchmarkSession, Probe
from pss_integrations.types import Message, Passage, SessionFields, SessionKey

_NAMES = {
    "heron": ("Morwen Talask", "v3.11.2", "v4.20.7", "Ilse Varga"),
    "crane": ("Bodrun Ketil", "v5.35.1", "v6.48.3", "Omar Lindqvist"),
    "rook": ("Sazeli Urvond", "v1.62.9", "v2.74.5", "Petra Oyelaran"),
    "teal": ("Quorin Asbeth", "v7.81.6", "v8.93.4", "Dario Mbeki"),
}


def small_session(name: str, *, group: str = "birds") -> BenchmarkSession:
    """A session named for a bird: heron, crane, rook or teal. No two share a name or a message."""
    project, old, new, owner = _NAMES[name]
    return BenchmarkSession(
        key=SessionKey(f"user-{name}", f"session-{name}"),
        messages=(
            Message("user", f"We start {project} today, on {old}."),
            Message("assistant", f"Noted, {project}."),
            Message("user", f"{owner} reviews it. Somebody else runs {name.title()} Mill."),
            Message("user", f"We moved {project} from {old} to {new}."),
            Message("assistant", f"So {new} it is."),
            Message("user", f"That is all about {project}."),
        ),
        fields=SessionFields(project, {"version": new}, {"version": old}, other={"owner": owner}),
        probes=(
            Probe(
                "is the one we run now any faster?", (frozenset({f"{name}/new"}),), f"{project} {new}", "coreference"
            ),
            Probe(
                "and what did we use before?", (frozenset({f"{name}/old"}),), f"{project} {old}", "temporal_revision"
            ),
        ),
        source_group=group,
        split="calibration",
    )


def small_passages(session: BenchmarkSession) -> list[Passage]:
    """A passage for what is in force, and one for what was before."""
    name = session.key.session_id.removeprefix("session-")
    fields = session.fields
    return [
        Passage(f"{name}/{which}", f"{fields.project} {values['version']} release notes for the {which} setup.")
        for which, values in (("new", fields.active), ("old", fields.archived))
    ]
