"""What a backbone without a state makes of a query: a scripted model says what comes of it, a tiny one that it runs."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from searchers import ids
from tiny import tiny_backbone, tiny_tokenizer

from pss_integrations.evaluation.backends import HydeIndex, PassageWriter, QuestionSplitter
from pss_integrations.retrieval import BM25Index
from pss_integrations.states.backbone import Backbone
from pss_integrations.types import Passage


class ScriptedModel:
    """Goes on with the same text after any prompt."""

    device = torch.device("cpu")

    def __init__(self, said: str, context: int = 2048) -> None:
        self.said, self.prompts = said, list[str]()
        self.config = SimpleNamespace(max_position_embeddings=context)

    def eval(self) -> "ScriptedModel":
        return self

    def requires_grad_(self, _: bool) -> "ScriptedModel":
        return self

    def generate(self, input_ids: torch.Tensor, max_new_tokens: int, **_: Any) -> torch.Tensor:
        tokenizer = tiny_tokenizer()
        self.prompts.append(tokenizer.decode(input_ids[0]))
        said = tokenizer(self.said, add_special_tokens=False)["input_ids"][:max_new_tokens]
        return torch.cat([input_ids, torch.tensor([said])], dim=1)


def scripted(model: ScriptedModel) -> Backbone:
    return Backbone(model, tiny_tokenizer(), name="scripted", fingerprint="f")


def test_the_passage_is_the_first_line_that_follows_the_question() -> None:
    model = ScriptedModel(" In 1874.\nQuestion: and now?")
    assert PassageWriter(scripted(model))("When was\n it built?") == "In 1874."
    assert model.prompts[0].endswith("Question: When was it built?\nPassage:")


def test_the_questions_are_lines_that_ask_each_once_up_to_a_blank_one() -> None:
    model = ScriptedModel(" When?\n- Who?\n-Who?\n* Wher\n\n- Why?")
    assert QuestionSplitter(scripted(model))("when and who") == ["When?", "Who?"]
    assert model.prompts[0].endswith("Request: when and who\n-")


def test_there_are_at_most_four_questions() -> None:
    model = ScriptedModel(" a?\n- b?\n- c?\n- d?\n- e?")
    assert QuestionSplitter(scripted(model))("letters") == ["a?", "b?", "c?", "d?"]


@pytest.mark.parametrize("kind", [PassageWriter, QuestionSplitter])
def test_a_long_query_is_cut_to_what_can_be_read(kind: Any) -> None:
    short, long = ScriptedModel("x", context=700), ScriptedModel("x", context=9000)
    for model in (short, long):
        kind(scripted(model))("word " * 3000)
    assert len(short.prompts[0]) + 64 == 700
    assert 1024 < len(long.prompts[0]) < 1024 + 600
    assert "word word" in short.prompts[0]


def test_names_tell_prompts_and_backbones_apart() -> None:
    backbones = [tiny_backbone(seed=seed) for seed in (0, 1)]
    names = {kind(backbone).name for kind in (PassageWriter, QuestionSplitter) for backbone in backbones}
    assert len(names) == 4
    assert PassageWriter(tiny_backbone()).name == PassageWriter(backbones[0]).name


def test_a_backbone_writes_the_same_for_the_same_query() -> None:
    written = {PassageWriter(tiny_backbone(max_position_embeddings=1024))("Who leads?") for _ in range(2)}
    assert len(written) == 1
    index = HydeIndex(
        BM25Index([Passage("a", "Kim leads.")]), PassageWriter(tiny_backbone(max_position_embeddings=1024))
    )
    assert ids(index, "Who leads?") == ["a"]
    assert QuestionSplitter(tiny_backbone(max_position_embeddings=1024))("Who leads?") == []
