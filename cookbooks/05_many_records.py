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
# # Many records in one state
#
# In one long session somebody tells the assistant of sixteen deployments, each by a nickname: *the foundry sweep*, *the
# winter inspection*. Later they ask: *the foundry sweep, which weights was that?* The documents know versions and
# checkpoints, and no nickname.
#
# Everything that was said could be put into the search. With one record that works. Here is what happens with four,
# eight and sixteen, and what a state does that holds them all and is asked for one.

# %%
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # there are no progress bars here

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from pss_integrations import BeliefStore, BM25Index, NewBelief, Principal, SessionKey, StateManager
from pss_integrations.evaluation import krecords
from pss_integrations.evaluation.reorientation import token_counter
from pss_integrations.retrieval import reciprocal_rank_fusion

# %% [markdown]
# ## The session and the documents
#
# The package generates such a session, with invented names, and a pool in which each record has eight passages of its
# own project that differ in version, checkpoint or route, and thirty-two of others.

# %%
sizes = (1, 4, 8, 16)
groups = {k: krecords.generate(k, seed=7, of=16).groups[0] for k in sizes}
passages = krecords.generate(16, seed=7).passages
index = BM25Index(passages)
print(f"{len(passages)} passages; {len(groups[16].messages)} messages, for instance:")
for message in groups[16].messages[2:7:2]:
    print(f"   {message.text}")


# %%
def found(evidence, doc_ids) -> bool:
    """Whether the record's own passage is there."""
    return all(group & set(doc_ids) for group in evidence)


probe = groups[16].probes[0]
print(probe.query)
(wanted,) = (passage for passage in passages if found(probe.evidence, [passage.doc_id]))
print(f"   wanted  {wanted.title}: {wanted.text}")
for hit in index.search(probe.query, 2):
    print(f"   found   {hit.passage.title}: {hit.passage.text}")

# %% [markdown]
# ## Compile
#
# Eight requests a record, as a user would make them, each with the clue that it should give and two clues of other
# records that it must not give. All of them go into one state. The sessions with fewer records are there for the plot.

# %%
for target in groups[16].targets[:2]:
    print(f"{target.request}  ->  {target.clue}\n     not {target.conflicts[0]}")

home = tempfile.TemporaryDirectory()
manager = StateManager(home.name, download=True)
keys = {k: SessionKey(user_id="ada", session_id=f"{k} records") for k in sizes}
for k, group in groups.items():
    state = manager.compile(keys[k], group.messages, targets=group.targets)
    print(f"{k:2} records: {state.targets.count:3} targets, {state.adapter_bytes / 2**20:.1f} MiB")

# %% [markdown]
# The state of sixteen records is as large as that of one. Now the questions: three a record, in words that no request
# of the compile had.

# %%
clues = {
    k: [clue.text for clue in manager.read_batch((keys[k], probe.query) for probe in group.probes)]
    for k, group in groups.items()
}
for probe, clue in list(zip(groups[16].probes, clues[16], strict=True))[:9:3]:
    print(f"{probe.query}\n   {clue}")

# %% [markdown]
# ## The alternatives
#
# All search with the question, and add something to it:
#
# - **a card** of at most 32 tokens: as much of the records as fits;
# - **all joined**: every record;
# - **one search a record**, the rankings fused (RRF);
# - **a lookup of nicknames**: each record is kept as a belief under its nickname, and the question finds it by name. No
#   model at all;
# - **the clue** of the state.

# %%
count_tokens = token_counter(manager.info(keys[1]).backbone.name).count
beliefs = BeliefStore(Path(home.name) / "beliefs.db")
K = 4  # passages that are looked at


def card_of(texts: list[str]) -> str:
    words = list[str]()
    for word in " ".join(texts).split():
        if count_tokens(" ".join([*words, word])) <= 32:
            words.append(word)
    return " ".join(words)


def with_added(question: str, added: str) -> list[str]:
    return [hit.doc_id for hit in index.search_expanded(question, added, K)]


def fused(question: str, texts: list[str]) -> list[str]:
    rankings = [[hit.doc_id for hit in index.search_expanded(question, text, 20)] for text in texts]
    return [doc_id for doc_id, _ in reciprocal_rank_fusion(rankings, key=str, k=K)]


def looked_up(owner: Principal, question: str) -> str:
    return " ".join(hit.belief.content for hit in beliefs.search(owner, ["project:deployments"], question))


def remember(owner: Principal, records) -> None:
    for record in records:
        belief = NewBelief(
            type="entity", canonical_name=record.handle, content=record.deployment.clue, scopes=("project:deployments",)
        )
        beliefs.put(owner, belief)


# %%
def recalls(k: int) -> dict[str, float]:
    """Share of questions whose passage is among the first four, for each way."""
    records, owner = groups[k].records, Principal.user(f"ada-{k}")
    texts = [record.deployment.clue for record in records]
    card, joined = card_of(texts), " ".join(texts)
    remember(owner, records)
    ways = {
        "question alone": lambda query, clue: with_added(query, ""),
        "a card of 32 tokens": lambda query, clue: with_added(query, card),
        "all records joined": lambda query, clue: with_added(query, joined),
        "one search a record": lambda query, clue: fused(query, texts),
        "lookup of nicknames": lambda query, clue: with_added(query, looked_up(owner, query)),
        "clue of the state": with_added,
    }
    asked = list(zip(groups[k].probes, clues[k], strict=True))
    return {
        name: sum(found(probe.evidence, way(probe.query, clue)) for probe, clue in asked) / len(asked)
        for name, way in ways.items()
    }


measured = {k: recalls(k) for k in sizes}
print(f"{'records in the session':22}" + "".join(f"{k:7}" for k in sizes))
for name in measured[1]:
    print(f"{name:22}" + "".join(f"{measured[k][name]:7.2f}" for k in sizes))

# %%
styles = {
    "question alone": ("#8a8378", 2),
    "a card of 32 tokens": ("#b5651d", 2),
    "all records joined": ("#c9962b", 2),
    "one search a record": ("#7a6fae", 2),
    "lookup of nicknames": ("#a9cbe8", 9),  # broad, since the next line lies on it
    "clue of the state": ("#2a7f62", 2),
}
figure, axes = plt.subplots(figsize=(8, 3.6))
for name, (color, width) in styles.items():
    axes.plot(sizes, [measured[k][name] for k in sizes], color=color, marker="o", label=name, linewidth=width)
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, [str(k) for k in sizes])
axes.set_xlabel("records in the session (K)")
axes.set_ylabel("Recall@4")
axes.set_ylim(-0.04, 1.06)
axes.legend(frameon=False, bbox_to_anchor=(1.01, 1), loc="upper left")
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()

# %% [markdown]
# The line of what is joined is simply 4 / K: each record brings its passage along, and four are looked at. Whoever can
# show the model more passages loses less, and pays for them. The clue says one record, so the question stays a question
# about one thing. The cost, in tokens that are searched with, and passages that have to be looked at:

# %%
texts = [record.deployment.clue for record in groups[16].records]
print(f"all records joined  {count_tokens(' '.join(texts)):4}")
print(f"a card              {count_tokens(card_of(texts)):4}")
print(f"the clue            {count_tokens(clues[16][0]):4}")

for places in (4, 8, 16, 32):
    hits = [index.search_expanded(probe.query, " ".join(texts), places) for probe in groups[16].probes]
    rows = [
        found(probe.evidence, [hit.doc_id for hit in one]) for probe, one in zip(groups[16].probes, hits, strict=True)
    ]
    print(f"all joined, {places:2} passages looked at: {sum(rows) / len(rows):.2f}")

# %% [markdown]
# ## The lookup does it too. When is a state worth it?
#
# The plot has two lines at the top. If your application has the table of nicknames, and users say them as they are, a
# lookup is cheaper and exact: take it. The table has to come from somewhere, though, and the name has to be said as it
# stands. Here it is said by half, and in other words, for which nothing was compiled:

# %%
forms = {
    "the whole nickname": "{handle}: which weights were loaded?",
    "its first word": "the {first} one, which weights were loaded?",
    "turned around": "the {second} at the {first}, which weights were loaded?",
    "in the plural": "{handle}s, which weights were loaded?",
}
owner, records = Principal.user("ada-16"), groups[16].records
evidence = [probe.evidence for probe in groups[16].probes[::3]]
by_form = {}
for form, template in forms.items():
    questions = []
    for record in records:
        first, second = record.handle.split()
        questions.append(template.format(handle=record.handle, first=first, second=second))
    said = [clue.text for clue in manager.read_batch((keys[16], question) for question in questions)]
    rows = list(zip(questions, said, evidence, strict=True))
    by_form[form] = {
        "lookup": sum(found(one, with_added(query, looked_up(owner, query))) for query, _, one in rows) / len(rows),
        "clue": sum(found(one, with_added(query, clue)) for query, clue, one in rows) / len(rows),
    }
    print(f"{form:20} lookup {by_form[form]['lookup']:.2f}   clue {by_form[form]['clue']:.2f}   {questions[0]}")

# %%
figure, axes = plt.subplots(figsize=(8, 2.6))
for offset, (way, color) in enumerate({"lookup": "#4a7fb5", "clue": "#2a7f62"}.items()):
    heights = [by_form[form][way] for form in forms]
    axes.bar([x + 0.38 * offset for x in range(len(forms))], heights, 0.36, color=color, label=way)
axes.set_xticks([x + 0.19 for x in range(len(forms))], list(forms))
axes.set_ylabel("Recall@4")
axes.set_ylim(0, 1.06)
axes.legend(frameon=False, bbox_to_anchor=(1.01, 1), loc="upper left")
axes.spines[["top", "right"]].set_visible(False)
axes.tick_params(axis="x", length=0)
figure.tight_layout()
plt.show()

# %% [markdown]
# A belief can have aliases, and with the first word among them the lookup would find it again: whoever fills the table
# has to have thought of it.
#
# ## What a state does not do
#
# It does not say "I don't know". The state of four records is asked for the twelve that it never saw. Each time it
# writes something that looks like a clue: one of its four, or a mixture of them that nothing is called by.

# %%
strangers = [f"{record.handle}: which weights were loaded?" for record in records[4:]]
known = {record.deployment.clue for record in records[:4]}
said = [clue.text for clue in manager.read_batch((keys[4], question) for question in strangers)]
for question, clue in list(zip(strangers, said, strict=True))[:3]:
    print(f"{question}\n   {clue}")
print(f"{sum(clue in known for clue in said)} of {len(said)} are a record that was not meant, the others a mixture")

# %% [markdown]
# What else this page does not show: one session of generated records, three questions each, so a step in the plot at
# K = 1 is a third; explicit identifiers, which full-text search likes; and targets that were given, not found in the
# messages. `pssi evaluate krecords --groups 6` does the same with six sessions, controls and intervals, and also with
# dense search, where the clue does less well.

# %%
manager.close()
beliefs.close()
home.cleanup()
