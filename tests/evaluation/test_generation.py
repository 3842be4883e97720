from collections.abc import Sequence

import pytest
import torch
from tiny import FAMILIES, tiny_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.generation import NEW_TOKENS, answer, chat_tokens, fits
from pss_integrations.evaluation.tools import Chat
from pss_integrations.states.backbone import Backbone
from pss_integrations.types import Message

TEMPLATE = "{% for one in messages %}<{{ one.role }}>{{ one.content }}{% endfor %}<assistant>"
REFUSING = "{% if messages[0].role == 'system' %}{{ raise_exception('no system message') }}{% endif %}" + TEMPLATE


def chat(question: str, *examples: tuple[str, str]) -> Chat:
    before = (Message(role, text) for both in examples for role, text in zip(("user", "assistant"), both, strict=True))
    return Message("system", "Rewrite it."), *before, Message("user", question)


def chats(count: int) -> list[Chat]:
    return [chat(f"Heron runs on kit-7. Question {number}: {'and then ' * number}what?") for number in range(count)]


def expected(backbone: Backbone, one: Chat) -> str:
    """The first line of what transformers generates."""
    prompt = torch.tensor([chat_tokens(backbone, one)])
    (row,) = backbone.model.generate(prompt, do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=0).tolist()
    text = backbone.decode(row[prompt.shape[1] :]).lstrip()
    return text.partition("\n")[0].strip()


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_what_transformers_generates_for_each_alone(family: str) -> None:
    backbone = tiny_backbone(family)
    asked = chats(10)
    assert [one.text for one in answer(backbone, asked)] == [expected(backbone, one) for one in asked]


class Scripted(torch.nn.Module):
    """A head that says the same to everybody, token by token."""

    def __init__(self, tokens: Sequence[int]) -> None:
        super().__init__()
        self._tokens = iter(tokens)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(len(hidden), 260)
        scores[:, next(self._tokens)] = 9
        return scores


@pytest.mark.parametrize(
    ("said", "ends", "text", "finished", "tokens"),
    [
        ("\n Heron kit-9 \nand more", False, "Heron kit-9", True, 15),
        ("Heron", True, "Heron", True, 6),
        ("", True, "", True, 1),
        ("x" * 30, False, "x" * NEW_TOKENS, False, NEW_TOKENS),
        ("\n" * 30, False, "", False, NEW_TOKENS),
    ],
)
def test_an_answer_ends_with_its_first_line(said: str, ends: bool, text: str, finished: bool, tokens: int) -> None:
    backbone = tiny_backbone()
    backbone.model.lm_head = Scripted([*backbone.encode(said), *[backbone.end_token] * ends])
    for one in answer(backbone, chats(2)):
        assert (one.text, one.finished, one.generated_tokens) == (text, finished, tokens)


def test_prompts_are_counted_in_full_and_nothing_is_asked_of_nobody() -> None:
    backbone = tiny_backbone()
    asked = chats(3)
    assert [one.prompt_tokens for one in answer(backbone, asked)] == [len(chat_tokens(backbone, one)) for one in asked]
    assert answer(backbone, []) == []


def test_a_chat_that_leaves_no_room_for_an_answer_is_refused() -> None:
    backbone = tiny_backbone()
    room = backbone.context_length - NEW_TOKENS - len(chat_tokens(backbone, chat("")))
    fitting, too_long = chat("x" * room), chat("x" * (room + 1))
    assert fits(backbone, fitting)
    assert not fits(backbone, too_long)
    assert answer(backbone, [fitting])
    with pytest.raises(InvalidInput, match="use a backbone with a longer one"):
        answer(backbone, [fitting, too_long])


def test_a_chat_is_written_as_the_template_has_it() -> None:
    backbone = tiny_backbone()
    example = chat("and now?", ("before?", "kit-7"))
    plain = "Rewrite it.\n\nbefore?\nSearch query: kit-7\n\nand now?\nSearch query:"
    assert backbone.decode(chat_tokens(backbone, example)) == plain
    backbone.tokenizer.chat_template = TEMPLATE
    said = "<user>before?<assistant>kit-7<user>and now?<assistant>"
    assert backbone.decode(chat_tokens(backbone, example)) == f"<system>Rewrite it.{said}"
    backbone.tokenizer.chat_template = REFUSING
    folded = said.replace("<user>", "<user>Rewrite it.\n\n", 1)
    assert backbone.decode(chat_tokens(backbone, example)) == folded
