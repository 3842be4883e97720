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
# # May the router change our queries? Let the stored chats answer
#
# You have an index, an assistant and last month's chats. A router could add to short follow-ups what they leave
# unsaid. Before it touches one query of a user, three questions:
#
# 1. **What would it have done?** The *shadow* replays stored chats. No labels, nothing is changed.
# 2. **How often may it be wrong?** *Calibration* sets a threshold that keeps a promise, or says that it can't.
# 3. **What does the promise cost?** There is always a price, and here it is a high one. Better to see it now.
#
# The chats here are generated, with project names that nobody uses. Put your own in their place: pairs of a
# `SessionKey` (or `None`) and messages. From files, `pssi shadow chats.jsonl --passages passages.jsonl` and `pssi
# calibrate` do the same.

# %%
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # there are no progress bars here
# %matplotlib inline

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from pss_integrations import BM25Index, Message, StateManager
from pss_integrations.evaluation import pss320
from pss_integrations.states import FieldTargets

workplace = Path(tempfile.mkdtemp())
cohort = pss320.generate(320, seed=4711)
index = BM25Index(cohort.passages)


def stored(session):
    """The chat as an application keeps it: the history, then short follow-ups and what the assistant said."""
    messages = list(session.messages)
    for probe in session.probes:
        messages += [Message("user", probe.query), Message("assistant", "One moment.")]
    return session.key, messages


chats = [stored(session) for session in cohort.sessions]
print(f"{len(chats)} chats, {len(index)} passages. The last one ends like this:\n")
for message in chats[-1][1][-6:]:
    print(f"{message.role:>9}: {message.text}")

# %% [markdown]
# ## 1. The shadow
#
# Each user message but the first is a query, and the messages before it are its live history. With the routes `raw`
# and `card` nothing has to be compiled: a card is a few names and rare words of the session.

# %%
from pss_integrations.routing.shadow import shadow

report = shadow(chats, index, routes=("raw", "card"))
told = report.to_dict()
print(f"{told['queries']} queries, {told['underspecified']} of them say too little by themselves")
for reason, count in report.reasons.items():
    print(f"{count:6} {reason}")
raw_or_card = report.differences[0]
print(f"{raw_or_card.compared} queries were searched both ways; {raw_or_card.first} have another first hit")
print(f"searches per query: {report.searches_per_query:.2f}")

# %% [markdown]
# `self_contained` queries are passed on as they are, and so are `guarded` ones, of which nobody can tell that they are
# follow-ups. For the rest, this is what would change. The examples that differ most come first.

# %%
for example in report.examples[:2]:
    print(f"{example.query}\n    the card adds: {example.added['card']}")
    for route, hits in example.found.items():
        print(f"    {route:>5}: " + " | ".join(hit.title for hit in hits[:3]))
    print()

# %% [markdown]
# The shadow shows that the routes *differ*. Which of them is right it can't know. The built-in rule is simple and
# promises nothing: it takes every query that asks or refers back, also those that nothing in your index answers.

# %% [markdown]
# ## 2. Calibration
#
# Calibration asks each session what it should leave alone: small talk, other people's topics, questions of other
# sessions, things it never settled. It then looks for a threshold under which **at most 5 % of each kind are changed,
# with 95 % confidence**. Below 59 sessions no threshold can promise that, whatever the data.

# %%
from pss_integrations.routing.calibration import calibrate


def calibrated(sessions, **promise):
    return calibrate(sessions, index, k=4, routes=("raw", "card"), **promise)


for count in (40, 90, 256):
    result = calibrated(chats[:count])
    if result.certificate is None:
        lacking = ", ".join(f"{number} for {kind}" for kind, number in result.missing.items())
        print(f"{count:3} sessions: not calibrated, missing are {lacking}")
    else:
        print(f"{count:3} sessions: calibrated, {result.retained:.0%} of the gain is left")

# %% [markdown]
# The last 64 chats were kept back, to look later whether the promise holds. Few sessions allow no mistake at all among
# the nulls, so their threshold is strict; with more, a few mistakes are allowed and more of the gain survives.
#
# The plot shows what there was to choose from. Each line is one kind of query that should be left alone: to the right,
# more of them are changed; up, more is gained. The star is what the promise allows.

# %%
from pss_integrations.evaluation.calibration_plot import draw_calibration

draw_calibration(result)

# %% [markdown]
# The star is low. With cards and BM25, sessions of this kind give the guard little to tell a good card from a bad one.
# A looser promise keeps more:

# %%
promises = {0.05: result} | {share: calibrated(chats[:256], max_activation=share) for share in (0.1, 0.2)}
for share, made in promises.items():
    print(f"at most {share:4.0%} of each kind changed: {made.retained:4.0%} of the gain kept")

# %% [markdown]
# ## 3. Does it hold on the 64 chats that were kept back?
#
# These chats are generated, so here, for once, we know the right passages, and which follow-ups have no answer at all.
# You would see neither; this is to show what a promise is worth. The certificate goes into the retriever as a file.

# %%
from statistics import mean

from pss_integrations.evaluation.metrics import all_recall_at_k
from pss_integrations.langchain import GuardedRouterRetriever


def judged(**guard):
    """Shares of follow-ups: changed without an answer, changed at all, and answered by the first four passages."""
    retriever = GuardedRouterRetriever(retriever=index, k=4, **guard)
    asked, answered, null = [], [], []
    for session in cohort.sessions[256:]:
        history = [(message.role, message.text) for message in session.messages]
        for probe in session.probes:
            found = [document.id for document in retriever.invoke({"input": probe.query, "chat_history": history})]
            is_changed = retriever.last_decision.route != "raw"
            asked.append(is_changed)
            if probe.evidence:
                answered.append(all_recall_at_k(found, probe.evidence, 4))
            elif probe.category == "null":
                null.append(is_changed)
    return mean(null), mean(asked), mean(answered)


certificate = workplace / "certificate.json"
promises[0.05].certificate.save(certificate)
loose = workplace / "loose.json"
promises[0.2].certificate.save(loose)
cards = {"routes": ("raw", "card")}
guards = {
    "raw alone": judged(routes=("raw",)),
    "5 % promised": judged(**cards, certificate=certificate),
    "20 % promised": judged(**cards, certificate=loose),
    "built-in rule": judged(**cards),
}
print(f"{'':15}{'no answer, changed':>20}{'all, changed':>15}{'answer found':>15}")
for name, (null, asked, answered) in guards.items():
    print(f"{name:15}{null:20.0%}{asked:15.0%}{answered:15.0%}")

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
places = range(len(guards))
axes.bar(
    [place - 0.2 for place in places],
    [one[0] for one in guards.values()],
    0.4,
    color="tab:red",
    label="changed though nothing answers it",
)
axes.bar(
    [place + 0.2 for place in places],
    [one[2] for one in guards.values()],
    0.4,
    color="tab:green",
    label="answer in the first four",
)
axes.set_xticks(places, guards)
axes.set_ylabel("share of the follow-ups")
axes.set_ylim(0, 1)
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# So the certificate keeps its word, and pays for it: the built-in rule changes every question that has no answer, and
# finds five times as many answers. Which of the two you want depends on what a wrong passage costs you. If the
# answering model copes with four useless passages, the built-in rule is the better deal; if it believes whatever it
# gets, it is not. Where the card is weak, as here, neither finds much: 25 % is a poor result, and the reason for
# section 5.
#
# ## 4. A certificate holds where it was made
#
# It is bound to the index, the backbone of the states and the router's settings. Anywhere else the guard says so and
# goes on with the built-in rule.

# %%
from textwrap import fill

elsewhere = BM25Index(pss320.generate(40, seed=4712).passages)
for name, searched in (("the same index", index), ("another index", elsewhere)):
    retriever = GuardedRouterRetriever(retriever=searched, k=4, routes=("raw", "card"), certificate=certificate)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        retriever.invoke("what was it before we switched?")
    print(f"{name}: calibrated={retriever.last_decision.calibrated}")
    for warning in caught:
        print(fill(str(warning.message), 100, initial_indent="    ", subsequent_indent="    "))

# %% [markdown]
# ## 5. The third route: compiled states
#
# A state is compiled once for a session, offline, and writes a search clue for each query. Compile a few sessions and
# let the shadow look at them; sessions without a state keep the routes raw and card. Here two sessions are compiled,
# from their histories and the fields that an application would know (project, version and so on).

# %%
few = cohort.sessions[:2]
with StateManager(workplace / "states", download=True) as manager:
    for session in few:
        info = manager.compile(session.key, session.messages, targets=FieldTargets(session.fields))
        print(f"{session.fields.project}: {info.messages} messages, {info.targets.count} clue targets learnt")
    compiled = shadow([stored(session) for session in few], index, manager)

asked_later = [one for one in compiled.queries if not one.in_hindsight]
print(f"{len(compiled.queries)} queries, of which {len(asked_later)} came after the compile")
for example in compiled.examples[:3]:
    print(f"\n{example.query}")
    for route in ("card", "pss"):
        print(f"    {route:>5} adds: {example.added.get(route, '-')}")

# %% [markdown]
# Again we know the right passages, so we can look at each follow-up that has some. Green: all of it is in the first
# four. A route that was not tried is red.

# %%
rows, labels = [], []
for one in asked_later:
    session = few[one.session]
    probe = session.probes[(one.position - len(session.messages)) // 2]
    if probe.evidence:
        rows.append([all_recall_at_k(one.found.get(route, ()), probe.evidence, 4) for route in ("raw", "card", "pss")])
        labels.append(probe.query if len(probe.query) < 60 else f"{probe.query[:57]}...")

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.pcolormesh(rows, cmap="RdYlGn", vmin=-0.3, vmax=1.3, edgecolors="white", linewidth=2)
axes.set_xticks([0.5, 1.5, 2.5], ["raw", "card", "pss"])
axes.set_yticks([row + 0.5 for row in range(len(labels))], labels, fontsize=8)
axes.invert_yaxis()
axes.set_title("all evidence in the first four", fontsize=10)
plt.show()

# %% [markdown]
# Two sessions are a look, not a measurement, and identifiers suit full-text search. A guard for all three routes needs
# a calibration of its own: at least 59 sessions with states, which is a quarter of an hour of compiling here, so this
# page leaves it out. `pssi calibrate` reads whatever states there are.
#
# **With your own chats:** `pssi shadow` first, and read the examples. Then `pssi calibrate --plot`, and ask whether
# what is kept is worth the promise. Then hand the certificate to the retriever, and calibrate again when the index
# changes.
