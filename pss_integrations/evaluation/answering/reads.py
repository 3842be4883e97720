"""Answers kept on disk by content, so that a run that was stopped goes on where it was.

::

    <directory>/answers/<reader>/<request>.json   the answer to one question from certain passages

``<reader>`` is a hash of what is said about the reader, ``<request>`` one of question and passages. Anything in it may
be deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pss_integrations import weights
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.answering.reader import BATCH, BatchReader, Reader, Request, StateReader
from pss_integrations.evaluation.source import WrittenState
from pss_integrations.retrieval.index import searched_text


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """A reader whose answers are kept.

    :param reader: Who answers.
    :param about: What tells its answers from those of every other reader, as plain JSON: model, version, prompt.
    :param directory: Where they are kept.
    """

    reader: Reader
    about: Mapping[str, Any]
    directory: Path

    def read(self, requests: Iterable[Request]) -> dict[Request, str]:
        """Answer every request, once for the same question and passages.

        Requests of like length are read together, since the longest of a batch decides how long it takes.
        """
        wanted = list(dict.fromkeys(requests))
        missing = sorted((one for one in wanted if not self._path(one).exists()), key=_length)
        answers = dict[Request, str]()
        for at in range(0, len(missing), BATCH):
            batch = missing[at : at + BATCH]
            for request, answer in zip(batch, self._ask(batch), strict=True):
                weights.write_json(self._path(request), {"answer": answer})
                answers[request] = answer
        return {one: answers[one] if one in answers else self._kept(one) for one in wanted}

    def with_state(self, state: WrittenState) -> KeptAnswers:
        """Return the same reader under a state; its answers are kept by the state's content.

        :raises InvalidInput: If the reader can't answer under a state.
        """
        if not isinstance(self.reader, StateReader):
            raise InvalidInput(f"{type(self.reader).__name__} cannot answer under a state: it has no with_state")
        return replace(self, reader=self.reader.with_state(state), about={**self.about, "bound": state.digest})

    def _ask(self, batch: Sequence[Request]) -> Iterable[str]:
        if isinstance(self.reader, BatchReader):
            return self.reader.read_batch(batch)
        return (self.reader(request.question, request.passages) for request in batch)  # each is kept before the next

    def _kept(self, request: Request) -> str:
        return json.loads(self._path(request).read_text(encoding="utf-8"))["answer"]

    def _path(self, request: Request) -> Path:
        texts = [searched_text(passage) for passage in request.passages]
        return (
            self.directory / "answers" / _digest(dict(self.about))[:16] / f"{_digest([request.question, texts])}.json"
        )


def _length(request: Request) -> int:
    return len(request.question) + sum(len(passage.text) for passage in request.passages)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
