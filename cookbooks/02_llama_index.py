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
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Follow-ups in a LlamaIndex query engine and chat engine
#
# Ada runs the mist valves of a vertical farm. Her assistant is a LlamaIndex engine over the company's handbook, and
# she asks it the way people ask: *"and what was it before we changed over?"* The retriever has no idea what *it* is.
# Ada said it, an hour ago, in this very session.
#
# Below, the session is compiled once into a small adapter, its *state*. A retriever around the one that Ada has lets
# the state write a search clue for each follow-up. Her index, her engine and her prompts stay as they are.

# %%
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # there are no progress bars here

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from pydantic import Field

from pss_integrations import BM25Index, Message, Passage, SessionFields, SessionKey, StateManager
from pss_integrations.evaluation import pss320
from pss_integrations.llama_index import GuardedRouterRetriever
from pss_integrations.retrieval import TransformerEmbedder
from pss_integrations.states import FieldTargets

workplace = Path(tempfile.mkdtemp())

# %% [markdown]
# ## What Ada has: a handbook, an index, a model
#
# Seven pages are about her valves. Three hundred and sixty more are about other people's projects, and talk about
# settings, versions and restarts just as hers do.

# %%
pages = [
    Passage(
        "farm/amber-fern",
        "Until 3 March the valves ran profile amber-fern v3.4.0 with table tbl-2207. One pulse lasted 9 seconds. It "
        "was given up because the lower trays stayed wet overnight.",
        "Archive: amber-fern v3.4.0",
    ),
    Passage(
        "farm/silver-moss",
        "Profile silver-moss v4.1.2 loads table tbl-2291 and is reached by bay-2/north. One pulse lasts 4 seconds. "
        "After a power cut, open valve 1 by hand before starting it.",
        "Starting silver-moss v4.1.2",
    ),
    Passage(
        "farm/tbl-2291",
        "Measured over six weeks: 91 percent of the leaves stayed dry at night, and water use fell by a fifth. Not yet "
        "tried with lettuce.",
        "Pulse table tbl-2291",
    ),
    Passage(
        "farm/tbl-2207",
        "Measured over four weeks: 64 percent of the leaves stayed dry at night. Superseded.",
        "Pulse table tbl-2207",
    ),
    Passage(
        "farm/people",
        "Teodor Quill wrote the mist valve scheduler and answers for it. In his absence ask Imke Brandvold.",
        "Mist valve scheduler",
    ),
    Passage(
        "farm/purpose",
        "Verdane Loft grows herbs above a parking deck, for restaurants that can be reached by bicycle.",
        "What Verdane Loft is for",
    ),
    Passage(
        "farm/night",
        "On 4 March two bays of Verdane Loft went dry for an hour, since the new profile waited for a sensor that had "
        "been unplugged. It has a timeout now.",
        "The dry hour of 4 March",
    ),
]
handbook = [*pages, *pss320.generate(60, seed=77).passages]


class MiniLM(BaseEmbedding):
    """The packaged all-MiniLM-L6-v2 as an embedding of LlamaIndex; any other one will do."""

    def _get_text_embeddings(self, texts):
        return encoder.embed_documents(texts).tolist()

    def _get_text_embedding(self, text):
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)


class Clerk(CustomLLM):
    """Stands in for a model: it reads out the first page of its context, and notes what it was told."""

    told: list[str] = Field(default_factory=list)

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, **kwargs):
        self.told.append(prompt)
        title, _, text = prompt.partition("title: ")[2].partition("\n")
        sentence = text.strip().splitlines()[0]
        return CompletionResponse(text=f"On the page “{title}” I read: {sentence}")

    def stream_complete(self, prompt, **kwargs):
        yield self.complete(prompt)


encoder = TransformerEmbedder(download=True)
Settings.embed_model, Settings.llm = MiniLM(), Clerk()
nodes = [TextNode(id_=page.doc_id, text=page.text, metadata={"title": page.title}) for page in handbook]
vectors = VectorStoreIndex(nodes)
question = "and what was it before we changed over?"
print(RetrieverQueryEngine.from_args(vectors.as_retriever(similarity_top_k=4)).query(question))

# %% [markdown]
# A page, but not hers.
#
# ## The session, compiled once
#
# What Ada said this morning. Her application knows what the session is about (it is in the project record that she has
# open), so it gives the fields, too; without them, targets are taken from the messages.

# %%
said = """
Morning! I look after the mist valve scheduler of Verdane Loft, the herb farm on the parking deck.
| Hello Ada. What do the valves run on?
Since winter it was profile amber-fern, version v3.4.0, with pulse table tbl-2207.
| Noted: amber-fern v3.4.0 and tbl-2207.
Teodor Quill wrote the scheduler, by the way. He brought mint cake on Friday.
| I will remember Teodor. Is anything about to change?
It has changed. We switched Verdane Loft to silver-moss on 3 March, version v4.1.2, table tbl-2291.
| So silver-moss is in force, and amber-fern is history.
Right, amber-fern is archived. The basil likes it, the chives are undecided.
| Give the chives a week.
I'll be back with short questions between two bays, so keep all this in mind.
| I will.
"""
messages = [
    Message("assistant" if line.startswith("|") else "user", line.removeprefix("| "))
    for line in said.strip().splitlines()
]
fields = SessionFields(
    project="Verdane Loft",
    component="mist valve scheduler",
    active={"profile": "silver-moss", "version": "v4.1.2", "table": "tbl-2291"},
    archived={"profile": "amber-fern", "version": "v3.4.0", "table": "tbl-2207"},
    other={"owner": "Teodor Quill"},
)

morning = SessionKey(user_id="ada", session_id="valves")
manager = StateManager(workplace / "states", download=True)
info = manager.compile(morning, messages, targets=FieldTargets(fields))
print(f"{info.messages} messages, {info.targets.count} clue targets, {info.adapter_bytes / 1e6:.1f} MB on disk")
print(f"“{question}” -> {manager.read(morning, question).text}")

# %% [markdown]
# ## The query engine: wrap the retriever, bind the session
#
# `bind` is cheap: one retriever for all, and a bound copy for each request. The state only searches. The question that
# the engine answers is Ada's own.

# %%
router = GuardedRouterRetriever(vectors.as_retriever(similarity_top_k=4), manager, kind="dense")
ada = router.bind(user_id="ada", session_id="valves")
engine = RetrieverQueryEngine.from_args(ada)
print(engine.query(question))
print("The model was asked:", Settings.llm.told[-1].partition("Query: ")[2].partition("\n")[0])

# %% [markdown]
# Which queries are changed, and why? Every decision is an event of LlamaIndex's instrumentation. A query that carries
# its own scope is passed on as it is, and whoever has no state is served as before.

# %%
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler

from pss_integrations.llama_index import PSSDecisionEvent


class Decisions(BaseEventHandler):
    """Prints what was decided; texts are only in events of a retriever with explain=True."""

    def handle(self, event, **kwargs):
        if isinstance(event, PSSDecisionEvent):
            print(f"    {event.route:4} because {event.reason}, clue in the event: {event.clue}")


get_dispatcher().event_handlers.append(decisions := Decisions())
bo = router.bind(user_id="bo", session_id="valves")
for who, retriever, query in (
    ("Ada", ada, "how well did the current one do?"),
    ("Ada", ada, "How well did tbl-2207 do?"),
    ("Bo ", bo, "how well did the current one do?"),
):
    print(f"{who}: {query}")
    retriever.retrieve(query)
get_dispatcher().event_handlers.remove(decisions)

# %% [markdown]
# The same session id of another user is another session: Bo gets what the plain retriever finds.
#
# ## How far up does the right page come?
#
# Eight follow-ups that Ada has not asked yet, and the page that each one means. Each is searched four times: as it is,
# and with the clue, composed in three ways. `append` searches with query and clue as one, `rrf` fuses the ranking of
# the query with that of the clue, and `replace` forgets the query.

# %%
follow_ups = {
    "what was the setting before we changed over?": "farm/amber-fern",
    "why did we give up the first one?": "farm/amber-fern",
    "how do I start the one we use now?": "farm/silver-moss",
    "how well did the current one do in the trial?": "farm/tbl-2291",
    "and the old one, how did that measure up?": "farm/tbl-2207",
    "whom can I ask while he is away?": "farm/people",
    "a new colleague asks what all of this is for": "farm/purpose",
    "what went wrong in the night after the change?": "farm/night",
}


def rank(retriever, query, doc_id):
    """Place of a page in what is found, from 1; a page that is not found comes last."""
    found = [node.node_id for node in retriever.bind(user_id="ada", session_id="valves").retrieve(query)]
    return found.index(doc_id) + 1 if doc_id in found else len(handbook)


def ranks(searched, **options):
    """Ranks of all follow-ups, for the query alone and for each composition."""
    return {
        name: [rank(GuardedRouterRetriever(searched, manager, **options, **how), *pair) for pair in follow_ups.items()]
        for name, how in {
            "raw": {"routes": ("raw",)},
            "rrf": {"composition": "rrf"},
            "replace": {"composition": "replace"},
            "append": {"composition": "append"},
        }.items()
    }


everything = len(handbook)
by = {
    "vectors (MiniLM)": ranks(vectors.as_retriever(similarity_top_k=everything), kind="dense"),
    "words (BM25)": ranks(BM25Index(handbook), similarity_top_k=everything),
}
for kind, of in by.items():
    print(f"{kind:17}", {name: f"{sum(place <= 4 for place in places)} of 8" for name, places in of.items()})

# %% [markdown]
# The second index is the package's own `BM25Index`, which can be given as the retriever itself. The picture shows what
# those counts hide: the place of the right page, before and after.

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for axes, (kind, of) in zip(panels, by.items(), strict=True):
    for row, places in enumerate(zip(*of.values(), strict=True)):
        axes.plot([min(places), max(places)], [row, row], color="0.85", zorder=0)
    for (name, places), marker in zip(of.items(), "osd*", strict=True):
        axes.scatter(places, range(len(places)), label=name, marker=marker, s=70 if name == "append" else 35)
    axes.axvline(4.5, color="0.6", linestyle=":")
    axes.set(title=kind, xlabel="place of the right page", xscale="log")
    axes.set_xticks([1, 4, 10, 100], ["1", "4", "10", "100"])
panels[0].set_yticks(range(len(follow_ups)), follow_ups, fontsize=8)
panels[0].invert_yaxis()
panels[1].legend(frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# Most pages come up from far below, and not all of them. Full-text search likes identifiers. The encoder doesn't: the
# page of table `tbl-2291` names neither farm nor profile, and the clue moves it by a few places only. The last
# question found its page by itself with vectors, and the clue costs it two places. Fusing the rankings is safer for
# such a question and weaker for the others, where the query's own bad hits hold half of the places.
#
# ## A chat engine, and a memory that outlives the session
#
# `CondensePlusContextChatEngine` usually spends a call of the model on each turn to rewrite the question from the
# history. The state has done that work: `skip_condense=True` saves the call. The memory adds what Ada has *settled*,
# in this and earlier sessions, as beliefs of hers in this project.

# %%
from pss_integrations.beliefs import BeliefMemory, BeliefStore
from pss_integrations.llama_index import BeliefStateMemory

beliefs = BeliefMemory(BeliefStore(workplace / "beliefs.db"), scopes=["project:{project}"])


def chat_engine():
    memory = BeliefStateMemory(memory=beliefs, user_id="ada", context={"project": "verdane"})
    return CondensePlusContextChatEngine.from_defaults(retriever=ada, memory=memory, skip_condense=True)


today = chat_engine()
print("Ada:  ", "We decided to use rain water for the mist valves.")
print("Clerk:", today.chat("We decided to use rain water for the mist valves."))
beliefs.flush()

# %% [markdown]
# The next day, another conversation. The engine finds the page through the state, and the model is told what was
# settled:

# %%
tomorrow = chat_engine()
print("Clerk:", tomorrow.chat("how do I start the one we use now?"))
tomorrow.chat("May I put rain water into the mist valves?")
told = Settings.llm.told[-1]
print("The model was told:", *(line.split(" | ")[0] for line in told.splitlines() if line.startswith("- ")))
manager.close()

# %% [markdown]
# **What to remember:** wrap the retriever, `bind` it for each request, leave the engine alone. Keep `append`, the
# default, unless your own questions say otherwise. One session is an illustration and no measurement; notebook 04
# shows how to ask stored chats.
