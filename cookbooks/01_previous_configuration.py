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
# # A LangChain chain that finds "the previous configuration"
#
# Ada keeps an assistant open all day. In the morning she told it which configuration her service left and which one it
# moved to. In the afternoon she asks: *why was the previous one given up?* The page that answers her says neither
# *previous* nor *one*; it says `slow-ember v2.7.4`. The pages of sixty other products say *previous* and *given up*.
#
# Here the morning is compiled into a small state. The state writes a search clue for the question, and the retriever
# that Ada's chain has already finds the page. Everything is invented, the model runs on the CPU, and nothing but its
# weights is fetched.

# %%
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # there are no progress bars here

# %%
import random
import tempfile

import matplotlib.pyplot as plt
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from pss_integrations import BM25Index, Passage, SessionKey, StateManager
from pss_integrations.errors import MissingIdentity
from pss_integrations.langchain import GuardedRouterRetriever, to_messages
from pss_integrations.states import HistoryTargets

# %% [markdown]
# ## The session
#
# Sixteen messages. What a search needs (product, version, checkpoint) is said early, between rye bread and waffles.

# %%
talk = [
    ("user", "I look after Brandel Hearth now, the oven controller for small bakeries. My part is the crust model."),
    ("assistant", "Welcome. What does it run today?"),
    ("user", "Profile slow-ember, version v2.7.4, checkpoint ckpt-3310. It has been like that since February."),
    ("assistant", "Noted: slow-ember v2.7.4 with ckpt-3310."),
    ("user", "The bakers in Lunde say that their rye burns at the edges when the oven door opens twice."),
    ("assistant", "Then the model reacts too late to the cold air. Do you have a candidate?"),
    ("user", "Yes. Jorun Maddox wrote the crust model and has a faster one. The canteen has waffles on Thursday, too."),
    ("assistant", "I will keep the waffles out of the notes."),
    (
        "user",
        "It went live this morning: we switched Brandel Hearth from slow-ember to bright-coal, "
        "version v3.0.2, checkpoint ckpt-5127.",
    ),
    ("assistant", "So bright-coal is in force now."),
    ("user", "Right, and slow-ember is archived. The rye looks good, Lunde sent a photo."),
    ("assistant", "Good news."),
    ("user", "The flour dust sensor needs a new filter, but that is not ours."),
    ("assistant", "Then we leave it out."),
    ("user", "I am off to lunch. Short questions after that."),
    ("assistant", "Enjoy it."),
]
messages = to_messages(talk)

# %% [markdown]
# ## The pages
#
# Five pages of Ada's product stand in a wiki with four pages each of sixty others. Those are written so that they hold
# the very words that follow-up questions are made of.

# %%
own = [
    Passage(
        "hearth/archive",
        "In force until 9 March. The crust model ran with ckpt-3310 and asked the door every 30 seconds. "
        "It was given up because rye burned at the edges whenever the door was opened twice.",
        "Brandel Hearth - slow-ember v2.7.4",
    ),
    Passage(
        "hearth/runbook",
        "Load ckpt-5127 and let the crust model ask the door every 5 seconds. If the heat swings, lower the gain.",
        "Brandel Hearth - bright-coal v3.0.2",
    ),
    Passage(
        "hearth/test-old",
        "v2.7.4 in four bakeries: 212 loaves, 31 of them with a burned edge.",
        "Brandel Hearth - test of ckpt-3310",
    ),
    Passage(
        "hearth/test-new",
        "v3.0.2 in five bakeries: 240 loaves, 6 of them with a burned edge.",
        "Brandel Hearth - test of ckpt-5127",
    ),
    Passage(
        "hearth/people",
        "The crust model was written by Jorun Maddox, who answers the phone at night too.",
        "Brandel Hearth - people",
    ),
]


def pages_of(product: str, rng: random.Random) -> list[Passage]:
    old, new = f"v{rng.randrange(1, 4)}.{rng.randrange(10)}.0", f"v{rng.randrange(4, 8)}.{rng.randrange(10)}.0"
    before, now = (f"ckpt-{number}" for number in rng.sample(range(6000, 10000), 2))
    texts = {
        old: f"The previous settings, with {before}, used before the switch. Given up because the old ones were slow.",
        new: f"The current settings. Load {now}, which it starts with now, and check that it answers.",
        f"test of {before}": f"How {old} did when it was tested, before {new} and {now} were there.",
        "people": f"Who wrote it, and who answers when {new} stops.",
    }
    return [Passage(f"{product} / {title}", text, f"{product} - {title}") for title, text in texts.items()]


rng = random.Random(5)
places, things = (
    "Ash Fen Mor Tull Wex Dor Kel Hal".split(),
    "Lantern Anvil Ferry Meadow Spindle Quarry Kettle Mill".split(),
)
others = rng.sample([f"{place}by {thing}" for place in places for thing in things], 60)
wiki = [*own, *(page for product in others for page in pages_of(product, rng))]
index = BM25Index(wiki)
print(f"{len(own)} pages of ours among {len(wiki)}")

# %% [markdown]
# ## Before
#
# The retriever of the chain as it is: full-text search with the question. In brackets is where the right page came
# among the first five.

# %%
questions = {
    "which settings did we use before the switch?": "hearth/archive",
    "why was the previous one given up?": "hearth/archive",
    "which checkpoint does it start with now?": "hearth/runbook",
    "how did the old one do when it was tested?": "hearth/test-old",
    "and how does the new one do?": "hearth/test-new",
    "who wrote it?": "hearth/people",
}


def place_of(found: list[str], wanted: str) -> str:
    return str(found.index(wanted) + 1) if wanted in found else "-"


for question, wanted in questions.items():
    found = [hit.doc_id for hit in index.search(question, 5)]
    print(f"[{place_of(found, wanted)}] {question:46} {found[0]}, {found[1]}")

# %% [markdown]
# ## Compile the session
#
# First look at what a compile would teach. The targets come from the messages alone, by English cue words: "switched
# from ... to", "is archived". *Lunde* got in because it is a capital letter in a place where names stand. That is what
# guessing costs; `FieldTargets` takes the fields from you instead.

# %%
for target in HistoryTargets().build(messages)[:6]:
    print(f"{target.request:44} {target.clue}")

# %%
home = tempfile.TemporaryDirectory()
manager = StateManager(home.name, download=True)
ada = SessionKey(user_id="ada", session_id="monday")
state = manager.compile(ada, messages)
print(f"{state.messages} messages, {state.targets.count} targets, all reproduced: {state.write.confirmed}")
print(f"{state.adapter_bytes / 2**20:.1f} MiB, compiled on {state.backbone.name}")

# %% [markdown]
# A state answers nothing. It writes what to search for, for requests that it was not taught word by word:

# %%
for question in questions:
    print(f"{question:46} {manager.read(ada, question).text}")

# %% [markdown]
# ## After
#
# `GuardedRouterRetriever` wraps any retriever, or an index of ours. It searches with the question, with a *card* (names
# from the messages that the chain still holds, no model involved) and with question and clue, and takes one of the
# three. Each is switched off here in turn, to see what it does alone. The chain still holds the last four messages; the
# card is shown for all sixteen too, which a chain with a long window could pass.

# %%
config = {"configurable": {"user_id": "ada", "session_id": "monday"}}


def routed(*routes: str, k: int = 5) -> GuardedRouterRetriever:
    return GuardedRouterRetriever(retriever=index, manager=manager, k=k, routes=routes)


ways = {
    "question\nalone": (routed("raw"), []),
    "card of\n4 messages": (routed("raw", "card"), talk[-4:]),
    "card of\n16 messages": (routed("raw", "card"), talk),
    "clue": (routed("raw", "pss"), talk[-4:]),
    "routed": (routed("raw", "card", "pss"), talk[-4:]),
}
ranks = {
    question: [
        place_of([page.id for page in way.invoke({"input": question, "chat_history": live}, config)], wanted)
        for way, live in ways.values()
    ]
    for question, wanted in questions.items()
}
print("question alone | card of 4 | card of 16 | clue | routed")
for question, row in ranks.items():
    print(f"{question:46} {'   '.join(row)}")

# %%
shades = {"1": "#2a7f62", "2": "#5fae8f", "3": "#9bd0ba", "4": "#d6e9df", "5": "#e8f2ed", "-": "#f0ece6"}
figure, axes = plt.subplots(figsize=(8, 3.4))
for y, row in enumerate(ranks.values()):
    for x, rank in enumerate(row):
        axes.add_patch(plt.Rectangle((x, y), 0.94, 0.88, color=shades[rank]))
        axes.text(x + 0.47, y + 0.44, rank, ha="center", va="center", color="white" if rank in "12" else "#555")
axes.set_xlim(0, len(ways))
axes.set_ylim(len(ranks), 0)
axes.set_xticks([x + 0.47 for x in range(len(ways))], list(ways))
axes.set_yticks([y + 0.44 for y in range(len(ranks))], list(ranks))
axes.xaxis.tick_top()
axes.tick_params(length=0)
for side in axes.spines.values():
    side.set_visible(False)
axes.set_title("Place of the right page among the first five", pad=12)
figure.tight_layout()
plt.show()

# %% [markdown]
# The card of four messages is empty: lunch has no name. A card of all sixteen names the product, which is enough where
# one page of that product fits and too little where the old and the new differ only in version and checkpoint. The clue
# says which of the two is meant. Six questions about one session that we wrote ourselves show how it works, not how
# often: the README has figures on recorded conversations, where a good card is hard to beat.
#
# ## In the chain
#
# An LCEL chain with a model that needs no network: it quotes the sentence of its context that shares most words with
# the question. Only the retriever is exchanged.


# %%
class QuotingModel(SimpleChatModel):
    """Quotes the sentence that shares most words with the question."""

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def _call(self, messages, stop=None, run_manager=None, **kwargs) -> str:
        context, _, question = messages[-1].content.partition("\n\nQuestion: ")
        asked = set(question.lower().rstrip("?").split())
        return max(context.split(". "), key=lambda sentence: len(asked & set(sentence.lower().split())))


prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")


def answering(retriever):
    context = retriever | (lambda pages: " ".join(page.page_content for page in pages))
    return {"context": context, "question": RunnablePassthrough()} | prompt | QuotingModel() | StrOutputParser()


before, after = answering(routed("raw", k=3)), answering(routed("raw", "card", "pss", k=3))
for question in ("why was the previous one given up?", "who wrote it?"):
    print(question)
    print(f"   before  {before.invoke(question, config)}")
    print(f"   after   {after.invoke(question, config)}")

# %% [markdown]
# The identity travels in the chain's config, as it does for any runnable. Each call tells what was decided, and why:

# %%
retriever = routed("raw", "card", "pss")
for question in ("why was the previous one given up?", "How was ckpt-5127 tested?"):
    retriever.invoke(question, config)
    decision = retriever.last_decision
    clue = decision.clue and decision.clue.text
    print(f"{question:40} route {decision.route}, reason {decision.reason}, clue {clue}")

# %% [markdown]
# The second question carries its own scope. It passes as it is: no state loaded, nothing generated.
#
# ## Without identity, and as somebody else
#
# Without identity nothing is assumed: the question is searched as it is, with one warning, or an error if you prefer.

# %%
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    retriever.invoke("why was the previous one given up?")
print(f"reason {retriever.last_decision.reason}; {told[0].category.__name__}: {told[0].message}")

strict = GuardedRouterRetriever(retriever=index, manager=manager, k=5, on_missing_identity="raise")
try:
    strict.invoke("why was the previous one given up?")
except MissingIdentity as error:
    print(f"MissingIdentity: {error}")

# %% [markdown]
# Ben asks Ada's question. With her session's id he gets nothing of hers, since the same id of two users is two
# sessions. In his own session, about another product, he gets his own previous configuration.

# %%
theirs = others[0]
old, new = (page.title.partition(" - ")[2] for page in wiki if page.title.startswith(f"{theirs} - v"))
ben = SessionKey(user_id="ben", session_id="tuesday")
manager.compile(
    ben,
    to_messages(
        [
            ("user", f"I work on {theirs}. It ran on version {old} when I came."),
            ("assistant", "Noted."),
            ("user", f"Today we switched {theirs} from version {old} to version {new}."),
        ]
    ),
    targets=HistoryTargets(max_targets=12),
)
for user, session in (("ben", "monday"), ("ben", "tuesday"), ("ada", "monday")):
    who = {"configurable": {"user_id": user, "session_id": session}}
    pages = retriever.invoke("why was the previous one given up?", who)
    decision = retriever.last_decision
    print(f"{user}, {session:8} {decision.reason:9} {decision.clue and decision.clue.text}")
    print(f"              {pages[0].metadata['title']} | {pages[1].metadata['title']}")

# %% [markdown]
# ## When not to use it
#
# **When the state is behind.** A state knows the session up to its last compile. Here Ada rolls back, and asks before
# anybody compiled that. The decision says how many messages the state is behind; a recompile goes on from where it was.

# %%
rolled_back = [
    ("user", "Bad news: we switched Brandel Hearth back to version v2.7.4, checkpoint ckpt-3310."),
    ("assistant", "Noted, slow-ember is in force again."),
]
now = {"input": "which version is in force now?", "chat_history": [*talk[-2:], *rolled_back]}
retriever.invoke(now, config)
decision = retriever.last_decision
print(f"{decision.messages_behind} messages behind: {decision.clue.text}")

manager.recompile(ada, to_messages([*talk, *rolled_back]))
retriever.invoke(now, config)
decision = retriever.last_decision
print(f"{decision.messages_behind} messages behind: {decision.clue.text}")

# %% [markdown]
# **When the session cannot know.** The built-in guard is a plain rule. A follow-up about something that was never said
# gets a clue too, and a search that looks more certain than it is. `pssi calibrate` sets a threshold on your own index.

# %%
retriever.invoke("and how much did that cost?", config)
decision = retriever.last_decision
print(f"route {decision.route}, calibrated {decision.calibrated}: {decision.clue.text}")

# %% [markdown]
# **When a card is enough.** If your chain passes the whole history, or one product has one page, start with
# `routes=("raw", "card")`: no model, no state, no identity. The clue earns its keep where the identifier that matters
# was said long ago.
#
# **When the session says nothing that a search could use.** A compile of small talk is refused, rather than made into a
# state that guesses.

# %%
manager.close()
home.cleanup()
