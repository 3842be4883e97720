# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A team's belief memory in an agent
#
# Ada and Ben build a timetable app with the same assistant, each in sessions of their own. What Ada settles on Monday,
# Ben's session should know on Tuesday; what Ben replaces on Thursday, Ada's should not repeat on Friday; and what a
# stranger asks should find nothing. Replaying all sessions would do the first, and pay for it at every turn.
#
# Here the team has a *belief memory*: typed facts with versions and hard scopes, found by their names. No model is
# needed for it. The agent below is LangChain's own, and its language model is a few lines of this page.

# %%
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # there are no progress bars here

# %%
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from pss_integrations import BeliefMemory, BeliefStore, NewBelief, Principal
from pss_integrations.beliefs import UNIVERSAL, Provenance
from pss_integrations.errors import AccessDenied
from pss_integrations.langchain import BeliefStateMiddleware, create_manage_belief_tool, create_search_belief_tool

# %% [markdown]
# ## The team and its store
#
# A store is an SQLite file. Who makes himself admin of a team that has none founds it; he lets others in. The clock is
# ours, so that the story below has its dates.

# %%
today = datetime(2026, 3, 2, 9, tzinfo=UTC)
home = tempfile.TemporaryDirectory()
store = BeliefStore(Path(home.name) / "beliefs.db", clock=lambda: today)

team, ada, ben = Principal.team("timetable"), Principal.user("ada"), Principal.user("ben")
store.grant(team, ada, "admin", actor=ada)
store.grant(team, ben, "write", actor=ada)

# %% [markdown]
# ## A model that says what it was told
#
# It answers with the beliefs in its system message. Asked to forget something it calls tools: it searches, and takes
# back what it finds.


# %%
class ClerkModel(BaseChatModel):
    """Answers with what is on record."""

    told: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        self.told.append("\n".join(message.text for message in messages if message.type == "system"))
        asked = next(message.text for message in reversed(messages) if message.type == "human")
        answer = self._answer(asked, messages[-1])
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _answer(self, asked, last) -> AIMessage:
        if last.type == "tool" and last.name == "search_beliefs":
            found = re.search(r"\[(\w+)\]", last.text)[1]
            return _calling("manage_belief", action="retract", belief_id=found)
        if last.type == "tool":
            return AIMessage("I took it back.")
        if asked.startswith("Forget"):
            return _calling("search_beliefs", query=asked)
        return AIMessage(" ".join(facts_in(self.told[-1])) or "I have nothing on record about that.")


def _calling(name: str, **args) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}])


def facts_in(told: str) -> list[str]:
    return [line.partition(" — ")[2].partition(" | ")[0] for line in told.splitlines() if line.startswith("- ")]


# %% [markdown]
# ## The agent
#
# Two memories side by side. The team's is filled from what is said in the sessions of a project; that of the person is
# only read here. A scope is a hard boundary: `project:{project}` is filled from each call, and no scope contains
# another.


# %%
def count_tokens(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


team_memory = BeliefMemory(store, scopes=["project:{project}"], count_tokens=count_tokens)
own_memory = BeliefMemory(store, scopes=[UNIVERSAL], count_tokens=count_tokens)
model = ClerkModel()
agent = create_agent(
    model,
    tools=[
        create_search_belief_tool(team_memory, principal=team),
        create_manage_belief_tool(team_memory, principal=team),
    ],
    middleware=[
        BeliefStateMiddleware(own_memory, observe=False),
        BeliefStateMiddleware(team_memory, principal=team),
    ],
)


def say(user: str, text: str, project: str = "timetable") -> str:
    config = {"configurable": {"user_id": user, "project": project}}
    answer = agent.invoke({"messages": [("user", text)]}, config)["messages"][-1].text
    team_memory.flush()  # what was said is kept in the background; here we want to look at it at once
    return answer


# %% [markdown]
# ## Two weeks, two users
#
# Each line is asked in a thread of its own: nothing but the memory connects them. Below each is what rules took from
# it, without a model.

# %%
sessions = [
    (
        2,
        "ada",
        [
            "Good morning. It rained into my bike bag, but the laptop is fine.",
            "We decided to use Redis for the page cache.",
        ],
    ),
    (3, "ben", ["Our staging server is called Otter.", "It hums, so it sits in the cellar beside the drinks."]),
    (4, "ada", ["The login test failed again, and I restarted it twice before it passed."]),
    (5, "ben", ["We switched the page cache from Redis to Valkey.", "The change took an hour, and nobody noticed."]),
    (6, "ada", ["We chose Postgres for the stop tables.", "The import of all stops takes four minutes."]),
    (9, "ben", ["Lunch with the drivers was fun. They know every shortcut, and none of them is in our data."]),
    (10, "ada", ["We agreed that releases are tagged by Mira."]),
    (
        11,
        "ben",
        [
            "The night lines come twice an hour; I think someone mixed up the calendars.",
            "Please look at line 41 first, where it is worst, and at 43 after that.",
        ],
    ),
    (12, "ada", ["We always store times in UTC.", "Until the summer, at least, when the ferries come in."]),
]
transcript, replayed = [], []
for day, user, lines in sessions:
    today = today.replace(day=day)
    for text in lines:
        known = {belief.id for belief in store.list(team, live=None, actor=ada)}
        transcript += [text, say(user, text)]
        kept = [one for one in store.list(team, live=None, actor=ada) if one.id not in known]
        print(f"{day:2} March  {user}  {text}")
        for belief in kept:
            print(f"               kept: {belief.type} {belief.canonical_name}")
    replayed.append(count_tokens(" ".join(transcript)))

# %% [markdown]
# Rules are plain: they know "we decided to", "is called", "we always". The drivers' shortcuts and the mixed up
# calendars are lost. A team that talks that way gives the memory a model of its own,
# `BeliefMemory(..., extractor=llm_extractor(model))`.
#
# ## A question in a fresh session
#
# Ben asks about Redis, which is no longer used. Its name leads to what replaced it. This is all that the model is told:

# %%
today = today.replace(day=13)
answer = say("ben", "How large may the Redis cache grow?")
print(model.told[-1])
print("\nanswer:", answer)

# %% [markdown]
# The block stands at the end of the system message and is never kept in the thread. It is data: one escaped line a
# belief, within a budget of tokens.
#
# ## Who may know what
#
# A preference of Ben's is his own and goes with him everywhere. The team's beliefs stay in their project, and behind
# the rights that Ada granted.

# %%
brevity = NewBelief(
    type="preference", canonical_name="answers", content="Ben prefers short answers.", scopes=(UNIVERSAL,)
)
store.put(ben, brevity)
for user, project in (("ada", "timetable"), ("ben", "timetable"), ("ben", "tickets"), ("cleo", "timetable")):
    try:
        say(user, "Is Otter up?", project)
        print(f"{user:5} {project:10} {facts_in(model.told[-1])}")
    except AccessDenied as error:
        print(f"{user:5} {project:10} AccessDenied: {error}")

# %% [markdown]
# ## Versions
#
# An application that knows what is decided says so itself, under one name. Each new version supersedes the one before.
# What a tool or a model says never does: it waits beside what it contradicts until somebody decides.


# %%
def deploy_day(weekday: str, source: str) -> NewBelief:
    return NewBelief(
        type="decision",
        canonical_name="deploy_day",
        content=f"The app is deployed on {weekday}s.",
        aliases=("deploy", "deployed"),
        scopes=("project:timetable",),
        provenance=Provenance(source=source),
    )


for day, weekday, source in (
    (16, "Friday", "user"),
    (18, "Tuesday", "user"),
    (20, "Thursday", "user"),
    (23, "Sunday", "tool"),
):
    today = today.replace(day=day)
    result = store.put(team, deploy_day(weekday, source), actor=ada)
    print(f"{day} March  {source} says {weekday:9} {result.outcome}, version {result.belief.version}")

# %%
say("ada", "When is the app deployed?")
print(model.told[-1].splitlines()[-2])
today = today.replace(day=24)
store.resolve(team, result.belief.id, accept=False, actor=ada)
say("ada", "When is the app deployed?")
print(model.told[-1].splitlines()[-2])

# %% [markdown]
# ## Why was this injected?
#
# `explain` says for each belief why it came for a query, or why not, past versions included.


# %%
def readable(reason: str) -> str:
    """With what a belief says in place of its id."""
    return re.sub(r"[0-9a-f]{32}", lambda found: f"'{store.get(team, found[0], actor=ada).content}'", reason)


for one in store.explain(team, ["project:timetable"], "When do we deploy to Redis?", actor=ben):
    print(f"{'came' if one.returned else '-':5} {one.belief.content:42} {readable(one.reason)}")

# %% [markdown]
# And `history` says who did what, and when:

# %%
current = store.search(team, ["project:timetable"], "deploy", actor=ben)[0].belief
for change in store.history(team, current.id, actor=ben):
    print(f"{change.at:%d %B}  {change.actor:9} {change.verb:10} {change.belief.content}")

# %%
beliefs = store.list(team, live=None, actor=ada)
born = {belief.id: belief.created_at for belief in beliefs}
subjects = {
    "redis_page_cache": ("page cache", "Redis"),
    "valkey_page_cache": ("page cache", "Valkey"),
    "postgres_stop_tables": ("stop tables", "Postgres"),
    "staging_server": ("staging", "Otter"),
    "releases_tagged": ("releases", "Mira"),
    "store_times_utc": ("times", "UTC"),
    "deploy_day": ("deploy day", None),
}
rows = list(dict.fromkeys(subject for subject, _ in subjects.values()))
begin, end = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 27, tzinfo=UTC)
figure, axes = plt.subplots(figsize=(8, 3.2))
for belief in beliefs:
    subject, said = subjects[belief.canonical_name]
    row, label = rows.index(subject), said or belief.content.split()[-1].strip(".")
    by_tool = belief.provenance.source == "tool"
    until = born.get(belief.superseded_by) or belief.retracted_at or end
    start, width = mdates.date2num(belief.created_at), (until - belief.created_at).days
    color = "#c9c3b8" if by_tool else "#2a7f62" if belief.live else "#9bd0ba"
    axes.barh(row + 0.34 * by_tool, width, 0.3 if by_tool else 0.6, start, color=color, edgecolor="white", linewidth=2)
    if not by_tool:
        axes.text(start + 0.15, row, label, va="center", fontsize=8, color="white" if belief.live else "#333")
axes.set_yticks(range(len(rows)), rows)
axes.invert_yaxis()
axes.xaxis.set_major_formatter(mdates.DateFormatter("%d %b"))
axes.set_xlim(mdates.date2num(begin), mdates.date2num(end))
axes.set_title("What the team held to be true (dark: still, light: past, grey: said by a tool, dropped)", fontsize=10)
axes.spines[["top", "right", "left"]].set_visible(False)
axes.tick_params(length=0)
figure.tight_layout()
plt.show()

# %% [markdown]
# The store can be asked for any moment of this picture:

# %%
for day in (4, 17, 24):
    then = store.as_of(team, datetime(2026, 3, day, 23, tzinfo=UTC), actor=ben)
    print(f"{day:2} March: {' '.join(one.content for one in then if 'cache' in one.content or 'app' in one.content)}")

# %% [markdown]
# ## What it costs
#
# What a question brings along, against replaying all that was said before it. Counted are words and marks, as the
# memory was told to at the top.

# %%
for question in (
    "How large may the Redis cache grow?",
    "Who tags the releases, and when do we deploy?",
    "Which staging server do we have?",
    "Which server is for staging?",
    "Where are the drivers' shortcuts?",
):
    injection = team_memory.recall(team, question, {"project": "timetable"}, actor=ben)
    print(f"{injection.tokens:4} tokens, {len(injection.shown)} beliefs  {question}")

# %% [markdown]
# Two honest zeros. *Which server is for staging?* finds nothing, since a name has to stand in the question as a whole;
# give a belief the aliases that people use. *The drivers' shortcuts* were never kept.

# %%
one = team_memory.recall(team, "How large may the Redis cache grow?", {"project": "timetable"}, actor=ben).tokens
figure, axes = plt.subplots(figsize=(8, 3))
axes.plot(range(1, len(sessions) + 1), replayed, marker="o", color="#b5651d", label="replaying all sessions so far")
axes.plot([1, len(sessions)], [one, one], marker="o", color="#2a7f62", label="a question that names one belief")
axes.set_xticks(range(1, len(sessions) + 1))
axes.set_xlabel("session")
axes.set_ylabel("tokens in front of a question")
axes.set_ylim(0)
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()

# %% [markdown]
# The block has a preface of some sixty tokens, so replaying is cheaper for the first two of these very short sessions.
# Then it goes on growing, and the block does not. It says less, too: what was replayed held the drivers' shortcuts.
#
# ## Take back, and erase
#
# Ada has the agent take something back. It searches by its tools, in her name: a model never says who asks. What was
# taken back is not found any more, and stays in the log.

# %%
print(say("ada", "Forget that times are in UTC."))
why = store.explain(team, ["project:timetable"], "Are times in UTC?", actor=ada)
print([one.reason for one in why if one.belief.canonical_name == "store_times_utc"])

# %% [markdown]
# To erase deletes the text from every file, with all versions and the log of them.


# %%
def on_disk(word: bytes) -> bool:
    return any(word in path.read_bytes() for path in Path(home.name).iterdir())


staging = store.search(team, ["project:timetable"], "staging server", actor=ada)[0].belief
print("in the files before:", on_disk(b"Otter"))
print(store.erase(team, staging.id, actor=ada))
print("in the files after: ", on_disk(b"Otter"))

# %% [markdown]
# ## When not to use it
#
# - **What is said once and needed at once** is in the thread already.
# - **Long texts.** A belief is a sentence. Documents belong into an index, and what a session is about into a state
#   (see `01_previous_configuration`).
# - **Questions that name nothing.** There are no neighbours by meaning here, on purpose: pin what always matters.
# - **Free talk without a model.** What rules missed above, they miss in your chats too. Look at what they keep before
#   you rely on it.

# %%
team_memory.close()
own_memory.close()
store.close()
home.cleanup()
