import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.routing import is_self_contained, is_usable_clue


@pytest.mark.parametrize(
    "query",
    [
        "How is retry_limit set in Kestrel v2.4?",
        "Show the changelog of v1.2.3",
        "Where is ckpt-4821 stored?",
        "What does getUserById return for unknown ids?",
        'Find the section on "graceful shutdown"',
        "Explain the flag `--dry-run`",
        "Who maintains the Marlowe billing service?",
        "Which ports does the IT team open for Marlowe v3.1?",
    ],
)
def test_a_query_with_its_own_scope_is_self_contained(query: str) -> None:
    assert is_self_contained(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \n\t",
        "use the previous configuration",
        "which checkpoint is in force?",
        "Does it support v1.2.3?",
        "Why was that changed in ckpt-4821?",
        "Use the same settings as in Kestrel v2.4",
        "What ran before ckpt-4821?",
        "Who owns Marlowe since we switched?",
        "Go back to what we’d agreed for Marlowe v3.1",
        "What did we pick for Marlowe v3.1?",
        "Repeat the run of ckpt-4821 from last time",
        "As discussed, deploy v1.2.3",
        "And for v1.2.3?",
        "What about Marlowe?",
        "Compare ckpt-4821 with the old one",
        "Restore the earlier `retry_limit`",
    ],
)
def test_a_query_that_refers_back_or_names_nothing_is_not(query: str) -> None:
    assert not is_self_contained(query)


@given(st.text())
def test_the_rule_is_deterministic_and_total(query: str) -> None:
    assert is_self_contained(query) is is_self_contained(query)


@pytest.mark.parametrize(
    "clue",
    ["Kestrel v2.4 retry_limit", "ckpt-4821", "## Kestrel\nretry_limit 5", "配置 v2.4", "Marlowe, Marlowe billing"],
)
def test_a_clue_that_adds_something_is_usable(clue: str) -> None:
    assert is_usable_clue(clue, "use the previous configuration")


@pytest.mark.parametrize(
    "clue",
    [
        "",
        "   ",
        "\n",
        "# Plan",
        "## Summary of the session\n\n### Next steps",
        "#",
        "...",
        "--- ?!",
        "Kestrel Kestrel Kestrel",
        "retry, retry, retry, retry",
        "the config the config the config",
        "哈哈哈哈哈哈哈哈",
        "aaaaaaaaaaaa",
        "use the previous configuration",
        "Use the PREVIOUS configuration.",
        "previous configuration",
    ],
)
def test_a_clue_that_says_nothing_is_not(clue: str) -> None:
    assert not is_usable_clue(clue, "use the previous configuration")


@given(st.text())
def test_an_echo_is_never_usable(query: str) -> None:
    assert not is_usable_clue(query, query)


@given(st.text(alphabet=" \t\n\r#.-*_!?", max_size=30))
def test_marks_and_blanks_are_never_usable(clue: str) -> None:
    assert not is_usable_clue(clue, "use the previous configuration")
