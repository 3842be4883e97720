"""The LangChain face where nothing but its own extra is installed: raw and card, and beliefs in a chain."""

from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate

from pss_integrations import BM25Index, Passage
from pss_integrations.beliefs import BeliefMemory, BeliefStore
from pss_integrations.langchain import BeliefStateMemory, GuardedRouterRetriever

for absent in ("torch", "transformers", "langchain", "llama_index", "chromadb"):
    assert find_spec(absent) is None, f"{absent} is installed"

pages = [
    ("heron", "Heron renderer", "The cache of Heron holds 40 tiles."),
    ("crane", "Crane ingest", "The cache of Crane holds 7 files."),
]
index = BM25Index([Passage(name, text, title) for name, title, text in pages])
retriever = GuardedRouterRetriever(retriever=index, k=1)
history = [HumanMessage("Tell me about the Crane ingest."), AIMessage("It reads files.")]
(found,) = retriever.invoke({"input": "and how large is its cache?", "chat_history": history})
assert found.id == "crane", found
assert retriever.last_decision is not None
assert retriever.last_decision.route == "card", retriever.last_decision

prompt = ChatPromptTemplate.from_messages([("human", "{input}")])
with TemporaryDirectory() as place, BeliefStore(Path(place) / "beliefs.db") as store:
    chain = prompt | BeliefStateMemory(memory=BeliefMemory(store, scopes=["user:universal"]))
    assert chain.invoke({"input": "hello"}, {"configurable": {"user_id": "ada"}})
