"""How another retriever is asked: never in the event loop by a sync one, and with an error that says what was wrong."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Generator
from contextlib import contextmanager

from llama_index.core.base import base_retriever
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.retrieval.wrapped import checked_list, no_list


def ask(retriever: BaseRetriever, bundle: QueryBundle) -> list[NodeWithScore]:
    """Return the very list that a retriever returns; its errors are raised on as they are.

    :raises InvalidInput: If it returns anything but a list of nodes.
    """
    with _explaining(retriever):
        return checked_list(retriever.retrieve(bundle), NodeWithScore, retriever)


async def aask(retriever: BaseRetriever, bundle: QueryBundle) -> list[NodeWithScore]:
    """Do the same without blocking the event loop."""
    # LlamaIndex's own would run the sync one in the event loop.
    if type(retriever)._aretrieve is BaseRetriever._aretrieve:  # pyright: ignore[reportPrivateUsage]
        return await asyncio.to_thread(ask, retriever, bundle)
    with _explaining(retriever):
        return checked_list(await retriever.aretrieve(bundle), NodeWithScore, retriever)


@contextmanager
def _explaining(retriever: BaseRetriever) -> Generator[None]:
    """Say what was wrong where LlamaIndex stumbles over what the retriever returned, such as ``None``."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        if not _was_checking(error):
            raise
        raise no_list(NodeWithScore, retriever, str(error)) from error


def _was_checking(error: Exception) -> bool:
    """Whether LlamaIndex itself stumbled, while it went through what a retriever had returned."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    theirs = [frame.f_code.co_name for frame in frames if frame.f_globals.get("__name__") == base_retriever.__name__]
    return bool(theirs) and theirs[-1] in ("_handle_recursive_retrieval", "_ahandle_recursive_retrieval")
