"""What holds of the rules whatever is named: a doubt silences a statement, and repetition adds nothing."""

from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs.extraction import Observation, RuleExtractor
from pss_integrations.types import Message

SCOPES = ("project:atlas",)
NAMES = st.sampled_from(["Marlin", "Fluvial", "Vespera", "Lantern 4", "Quillbase", "Foliant", "Brisk Freight"])
STATED = st.sampled_from(
    [
        "we use {}",
        "everyone here is on {}",
        "our till is a {}",
        "we ended up going with {}",
        "we've been on {} since 2021",
        "Ines Okafor looks after our {}",
        "the board signed off on {}",
        "I have a soft spot for {}",
        "I can't stand {}",
        "we only take {}",
        "no more {} for us",
        "I'd take {} over tea any day",
        "it used to be Pharos, now it's {}",
        "our choir is led by {}",
        "our choice fell on {}",
        "our flour comes from {}",
        "{} is my favourite",
    ]
)
SILENCED = st.sampled_from(
    [
        "Is it true that {}?",
        "Suppose {}.",
        "If {}, what would it cost?",
        "Maybe {}.",
        "My neighbour said that {}.",
        "Translate this: {}",
        '"{}" is a bad slogan.',
        "> {}",
        "```\n{}\n```",
        "Just kidding, {}.",
    ]
)


def observe(*texts: str) -> Observation:
    return RuleExtractor().extract([Message("user", text) for text in texts], SCOPES)


@given(STATED, NAMES)
def test_a_statement_is_kept_with_what_it_names(form, name):
    found = observe(form.format(name)).beliefs
    assert len(found) == 1
    assert name in found[0].content


@given(STATED, NAMES, SILENCED)
def test_what_is_asked_supposed_reported_or_quoted_is_left(form, name, frame):
    assert observe(frame.format(form.format(name))) == Observation()


@given(STATED, NAMES)
def test_saying_it_again_adds_nothing(form, name):
    text = form.format(name)
    once, twice = observe(text), observe(text, text)
    assert [one.content for one in once.beliefs] == [one.content for one in twice.beliefs]


@given(STATED, NAMES)
def test_a_record_of_it_fed_back_yields_nothing(form, name):
    block = (
        f"<pss-beliefs>\nOn record, a belief a line.\n- decision x — {form.format(name)}. | user said\n</pss-beliefs>"
    )
    assert observe(block) == Observation()


@given(STATED, NAMES)
def test_an_assistant_says_nothing_of_the_user_unless_it_is_read(form, name):
    message = Message("assistant", form.format(name))
    assert RuleExtractor().extract([message], SCOPES) == Observation()
    inferred = RuleExtractor(roles=["assistant", "tool"]).extract([message], SCOPES).beliefs
    assert not any(one.explicit for one in inferred)
