import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.schema import IndexNode, Node, NodeWithScore, QueryBundle, TextNode

from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index.convert import own, searching, to_messages, to_node, with_score
from pss_integrations.types import ROLES, Hit, Message, Passage


def test_every_role_has_one_of_ours() -> None:
    converted = to_messages([ChatMessage(role=role, content="x") for role in MessageRole])
    assert {message.role for message in converted} == set(ROLES)
    assert to_messages([ChatMessage(role="user", content="x")]) == [Message("user", "x")]


def test_what_is_no_chat_message_is_refused() -> None:
    with pytest.raises(InvalidInput, match="ChatMessage values, got tuple"):
        to_messages([("user", "x")])  # pyright: ignore[reportArgumentType]


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


@pytest.mark.parametrize("kind", [TextNode, Node])
def test_what_is_written_on_a_copy_of_ones_own_stays_there(kind: type) -> None:
    kept = NodeWithScore(node=kind(id_="a", metadata={"n": 1}, excluded_llm_metadata_keys=["n"]), score=0.5)
    kept.node.set_content("x")
    before = kept.model_dump()
    copied = own(kept)
    assert copied.model_dump() == before
    copied.score = 0.0
    copied.node.set_content("y")
    copied.node.metadata["n"] = 2
    copied.node.excluded_llm_metadata_keys.append("m")
    assert kept.model_dump() == before


def test_a_copy_of_ones_own_leads_where_the_original_does() -> None:
    behind = TextNode(text="behind")
    node = IndexNode(text="x", index_id="i", obj=behind)
    assert own(NodeWithScore(node=node)).node.obj is behind


def test_a_title_is_written_only_where_there_is_one() -> None:
    metadata = {"title": "the caller's"}
    assert to_node(Hit(Passage("a", "t", "", metadata), 0.5)).metadata == metadata
    assert to_node(Hit(Passage("a", "t", "ours", metadata), 0.5)).metadata == {"title": "ours"}
    assert to_node(Hit(Passage("a", "t"), 0.5)).metadata == {}
