import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pss_integrations.llama_index.convert import searching, to_messages, with_score
from pss_integrations.types import ROLES, Message


def test_every_role_has_one_of_ours() -> None:
    converted = to_messages([ChatMessage(role=role, content="x") for role in MessageRole])
    assert {message.role for message in converted} == set(ROLES)
    assert to_messages([ChatMessage(role="user", content="x")]) == [Message("user", "x")]


def test_of_a_message_in_blocks_the_text_counts() -> None:
    blocks = [TextBlock(text="one"), ImageBlock(url="https://example.org/a.png"), TextBlock(text="two")]
    assert to_messages([ChatMessage(role="user", blocks=blocks)]) == [Message("user", "one\ntwo")]
    assert to_messages([ChatMessage(role="assistant", blocks=[])]) == [Message("assistant", "")]


def test_another_text_replaces_all_that_is_searched_with() -> None:
    bundle = QueryBundle("a", image_path="p.png", custom_embedding_strs=["a"], embedding=[1.0])
    assert searching(bundle, "b") == QueryBundle("b", image_path="p.png", custom_embedding_strs=["b"])
    assert bundle == QueryBundle("a", image_path="p.png", custom_embedding_strs=["a"], embedding=[1.0])


@pytest.mark.parametrize("bundle", [QueryBundle("a"), QueryBundle("a", None, ["hypothetical"], [1.0])])
def test_the_same_text_gives_an_equal_copy(bundle: QueryBundle) -> None:
    assert searching(bundle, "a") == bundle
    assert searching(bundle, "a") is not bundle


def test_scores_go_on_copies() -> None:
    scored = NodeWithScore(node=TextNode(text="x"), score=0.5)
    assert with_score(scored, 0.0).score == 0.0
    assert (scored.score, with_score(scored, 0.0).node) == (0.5, scored.node)
