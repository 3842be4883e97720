from datetime import UTC, datetime

import pytest

from pss_integrations.beliefs.extraction import Extractor, Gone, Observation, RuleExtractor
from pss_integrations.beliefs.schema import NewBelief
from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message, Role

SCOPES = ("project:atlas",)
AT = datetime(2024, 5, 22, 9, tzinfo=UTC)  # a Wednesday


def observe(*texts: str, first: Role = "user", at: datetime | None = None, roles=("user",)) -> Observation:
    """What is taken from a conversation in which user and assistant take turns."""
    speakers: tuple[Role, Role] = ("user", "assistant") if first == "user" else ("assistant", "user")
    messages = [Message(speakers[n % 2], text, id=f"t{n}", created_at=at) for n, text in enumerate(texts)]
    return RuleExtractor(roles=roles).extract(messages, SCOPES)


def only(*texts: str, at: datetime | None = None) -> NewBelief:
    beliefs = observe(*texts, at=at).beliefs
    assert len(beliefs) == 1, [one.content for one in beliefs]
    return beliefs[0]


def contents(*texts: str) -> list[str]:
    return [one.content for one in observe(*texts).beliefs]


def test_it_is_an_extractor_and_takes_nothing_from_nothing():
    assert isinstance(RuleExtractor(), Extractor)
    assert RuleExtractor().extract([], SCOPES) == Observation()
    with pytest.raises(InvalidInput, match="no scope"):
        RuleExtractor().extract([], [])
    with pytest.raises(InvalidInput, match="'system'"):
        RuleExtractor(roles=["system"])


@pytest.mark.parametrize(
    ("text", "type", "name", "content"),
    [
        ("We use Fluvial for billing.", "decision", "fluvial_billing", "Uses Fluvial for billing."),
        ("We're on Python 3.12 now.", "decision", "python", "Is on Python 3.12."),
        ("My team relies on Quillbase for audits.", "entity", "team", "Team relies on Quillbase for audits."),
        ("In our lab we use Benchmark Labs.", "decision", "benchmark_labs", "Uses Benchmark Labs."),
        ("The queue we use is Marlin. Is it fast?", "decision", "marlin_queue", "Uses Marlin as queue."),
        ("We keep our minutes in Foliant.", "decision", "keep_minutes_foliant", "Keeps their minutes in Foliant."),
        ("We adopted Fernline.", "decision", "fernline", "Adopted Fernline."),
        ("We agreed on a fee of 40 euros.", "decision", "fee_euros", "Agreed on a fee of 40 euros."),
        ("We'll go with oat milk.", "decision", "oat_milk", "Decided on oat milk."),
        ("Final decision: the blue hull.", "decision", "blue_hull", "Decided on the blue hull."),
        ("Our code review day is Thursday.", "entity", "code_review_day", "Code review day is Thursday."),
        ("Our search runs on Vespera.", "entity", "search", "Search runs on Vespera."),
        ("Brisk Freight is our carrier.", "entity", "carrier", "Carrier is Brisk Freight."),
        ("Deliveries are on Tuesdays.", "entity", "deliveries", "Deliveries are on Tuesdays."),
        ("I'm allergic to hazelnuts.", "entity", "allergic_hazelnuts", "Is allergic to hazelnuts."),
        ("I prefer tabs over spaces.", "preference", "tabs", "Prefers tabs over spaces."),
        ("I can't stand pop-ups.", "preference", "pop-ups", "Cannot stand pop-ups."),
        ("I'd rather have one list than two.", "preference", "list", "Would rather have one list than two."),
        ("My favourite font is Inter.", "preference", "favourite_font", "Favourite font is Inter."),
        ("Always cite the page number.", "preference", "cite_page_number", "Always cite the page number."),
        ("I never work on Sundays.", "preference", "work_sundays", "Never works on Sundays."),
        ("From now on, number the steps.", "preference", "number_steps", "Number the steps."),
        ("Please answer in French.", "preference", "answer_language", "Wants answers in French."),
        ("Please keep your answers short.", "preference", "answer_length", "Wants answers short."),
    ],
)
def test_what_is_stated_is_kept(text, type, name, content):
    belief = only(text)
    assert (belief.type, belief.canonical_name, belief.content) == (type, name, content)
    assert belief.scopes == SCOPES
    assert (belief.provenance.source, belief.provenance.turn_id) == ("user", "t0")


def test_a_thing_is_found_by_itself_and_by_what_it_is_for():
    belief = only("We use Fluvial 2.1 for the invoices.")
    assert belief.canonical_name == "fluvial_invoices"
    assert {"Fluvial 2.1", "Fluvial", "invoices"} <= set(belief.aliases)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("We chose Marlin because the tablets are offline.", "Chose Marlin because the tablets are offline."),
        ("I use Vespera because I am left-handed, and it works.", "Uses Vespera because they are left-handed."),
        ("We use Marlin because of the offline tablets.", "Uses Marlin."),
        ("We use Marlin, but it is slow because the disk is old.", "Uses Marlin."),
    ],
)
def test_a_reason_stays_with_what_it_explains(text, content):
    belief = only(text)
    assert belief.content == content
    assert belief.why_it_matters is None


@pytest.mark.parametrize(
    ("text", "content", "old"),
    [
        ("We switched from Marlin to Vespera.", "Switched to Vespera.", "Marlin"),
        ("We moved billing from Marlin to Vespera.", "Moved billing to Vespera.", "Marlin"),
        ("The reports were migrated from Marlin to Vespera.", "Reports migrated to Vespera.", "Marlin"),
        ("Our crew was reassigned from Atlas to Boreal.", "Crew reassigned to Boreal.", "Atlas"),
        ("We replaced Marlin with Vespera.", "Uses Vespera.", "Marlin"),
        ("We dropped Marlin for Vespera.", "Uses Vespera.", "Marlin"),
        ("Last month Marlin was replaced by Vespera.", "Uses Vespera.", "Marlin"),
        ("The Marlin box has been replaced by Vespera.", "Uses Vespera.", "Marlin box"),
        ("We now use Vespera instead of Marlin.", "Uses Vespera.", "Marlin"),
    ],
)
def test_a_change_says_what_was_given_up(text, content, old):
    belief = only(text)
    assert belief.content == content
    assert belief.replaces == (old,)
    assert old not in belief.aliases


@pytest.mark.parametrize(
    ("text", "type", "content"),
    [
        ("I no longer use MySQL.", "decision", "No longer uses MySQL."),
        ("We don't use Marlin any more.", "decision", "No longer uses Marlin."),
        ("I stopped using Marlin in February.", "decision", "No longer using Marlin since February."),
        ("We got rid of the fax machine.", "decision", "No longer has the fax machine."),
        ("The legacy wiki is archived now.", "decision", "Legacy wiki is archived."),
        ("I no longer like Vim.", "preference", "No longer likes Vim."),
    ],
)
def test_what_ended_is_kept_with_its_negation(text, type, content):
    observation = observe(text)
    belief = observation.beliefs[0]
    assert (belief.type, belief.content) == (type, content)
    types = ("preference",) if type == "preference" else ("decision", "entity")
    assert observation.gone == (Gone(belief.canonical_name, types),)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I do NOT want Express.", "Does not want Express."),
        ("We don't deploy on Fridays.", "Does not deploy on Fridays."),
        ("I'm not a fan of stubs.", "Is not a fan of stubs."),
        ("We decided against a mobile app.", "Decided against a mobile app."),
        ("We won't use Marlin.", "Will not use Marlin."),
        ("Never push to main.", "Never push to main."),
        ("We don't take reservations.", "Does not take reservations."),
        ("We no longer deliver to Zone 4.", "No longer delivers to Zone 4."),
        ("Please don't ever call me Bobby again.", "Do not ever call them Bobby."),
    ],
)
def test_negation_is_kept(text, content):
    assert only(text).content == content


@pytest.mark.parametrize(
    "text",
    [
        "Do we use Redis anywhere?",
        "If we used Snowflake, what would it cost?",
        "Suppose we moved to Lisbon.",
        "Imagine you are a baker. We use only rye.",
        "I think we use a proxy somewhere.",
        "We use Kafka, I guess.",
        "Jack doesn't like football.",
        "My colleague uses Helix.",
        "Their team runs on Azure.",
        "Marta said we use Oracle.",
        "According to the wiki our host is Strato.",
        "The agency we hired works with Figma.",
        "We used to use Perl.",
        "At my last job we used Oracle.",
        "Back then our host was Strato.",
        "Use Python for this snippet.",
        "Please answer in Spanish this time.",
        "For this table, always round up.",
        "I like your idea.",
        "I love the second version.",
        "I'd like a summary.",
        "I want a table.",
        "Our build is broken.",
        "My train is at 9:15 tomorrow.",
        "I tested it with Postman and got a 401.",
        "I replaced foo with bar and it still fails.",
        "We went for a walk.",
        "We might switch to Azure.",
        "Rust is a language.",
        "Our sun is a star.",
        "Octopuses live in dens.",
        "Latin was replaced by Italian.",
        "The café next door runs on Lightspeed.",
        "The school across the road is hosted by Strato.",
        "My client's website is on Squarespace.",
        "My client is on Windows 7.",
        "My dentist uses a laser by Biolase.",
        "Use the new link in all links.",
        "We take the A7 north.",
        "One of our drivers is a Dane.",
        "I love Fridays!",
        "I prefer the left one of the two.",
        "I'd rather take the stairs than that lift.",
        "For now let's go with five rows.",
        "We use 250 g of butter.",
        "From now on, I'm practising.",
        "Never start a mail with 'I hope this finds you well'.",
        "Don't write that we're undecided about the caterer.",
        "It isn't true that we haven't decided.",
        "I hate Mondays, just kidding.",
        "Translate this: we always deliver on time and our shop is in Graz",
        'He said "we never use Jira" and left.',
    ],
)
def test_what_nobody_vouches_for_is_left(text):
    assert contents(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "What does this mean?\n> we use MySQL for everything",
        "Is this fine?\n```\n# we use black\nour_region = 1\n```",
        "Is this fine?\n```\nwe use black",
        "2024-01-01 10:00:00 INFO we use replica db-3\n[12:00:01] our region is eu-north-1\nWARN we use v1",
        "$ echo we use bash",
        "See https://example.org/we-use-mariadb",
        "Here is what the docs say:\nWe use Kafka. Our region is eu-west-1.\n\nWhat is it?",
        "Reply to this, please.\n\nHi team,\nwe moved to Graz and our shop is in Hall.\nBest regards,\nJo",
        "Look.\nFrom: Kim\nSubject: tools\n\nWe use Basecamp.",
    ],
)
def test_what_is_pasted_is_not_the_users(text):
    assert contents(text) == []


def test_a_fact_beside_a_pasted_text_is_found():
    text = (
        "This fails:\n```yaml\nimage: mariadb  # we use maria\n```\nThat is from a blog. We run CockroachDB ourselves."
    )
    assert contents(text) == ["Runs CockroachDB."]


def test_a_comment_behind_code_is_no_statement():
    assert contents("`git config core.editor vim` # we prefer vim") == []


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("To Norrland Timber. They're our main sponsor.", "Main sponsor is Norrland Timber."),
        ("The buffer for our assay is HEPES.", "Buffer for their assay is HEPES."),
        ("It is pasted into Benchling, which is what our lab uses.", "Lab uses Benchling."),
        ("Our ticket shop runs on Vespera.", "Ticket shop runs on Vespera."),
        ("We've been running Vespera for logs.", "Has been running Vespera for logs."),
        ("I started using Vespera in May.", "Started using Vespera in May."),
        ("I don't want an ORM in this service.", "Does not want an ORM in this service."),
        ("We use Vespera here and I don't want any others on it.", "Uses Vespera."),
        ("The box with Marlin has been retired, all alerts come from Vespera now.", "All alerts come from Vespera."),
        ("We decided on Friday to sell the piano.", "Decided to sell the piano."),
        ("Use a table by default, ok?", ""),
    ],
)
def test_one_statement_gives_one_belief(text, content):
    assert contents(text)[:1] == ([content] if content else [])


def test_two_predicates_of_one_subject_are_two_facts():
    assert contents("Our site runs on Django and is hosted at Strato.") == [
        "Site runs on Django.",
        "Site is hosted at Strato.",
    ]


def test_what_is_picked_without_a_question_is_for_this_turn():
    assert contents("Find me a way to Milan. I prefer trains.", "There is a train.", "Train it is.") == [
        "Prefers trains."
    ]


def test_a_statement_before_a_question_is_found():
    assert contents("We use Marlin, how do I rotate keys?") == ["Uses Marlin."]


def test_several_facts_of_one_sentence():
    assert contents("Our payroll provider is BrightPay and the nominal code for wages is 2220.") == [
        "Payroll provider is BrightPay.",
        "Nominal code for wages is 2220.",
    ]


def test_a_pronoun_stands_for_the_noun_before():
    assert contents("The kiosks freeze. They run on Raspberry Pi 4.") == ["Kiosks run on Raspberry Pi 4."]
    assert contents("Leave legacy-quotes alone. That repo is archived.") == ["Legacy-quotes is archived."]


def test_unrelated_facts_about_one_thing_stay_apart():
    observation = observe("Our auth uses Redis.", "ok", "Our cache uses Redis with LRU eviction.")
    assert [one.canonical_name for one in observation.beliefs] == ["auth", "cache"]


@pytest.mark.parametrize(
    ("texts", "content"),
    [
        (("I love Chinese food.", "Noted.", "I hate Chinese food."), "Hates Chinese food."),
        (("Our carrier is DPD.", "ok", "Our carrier is GLS now."), "Carrier is GLS."),
        (("We use Marlin.", "ok", "We replaced Marlin with Vespera."), "Uses Vespera."),
        (("We use Marlin.", "ok", "We no longer use Marlin."), "No longer uses Marlin."),
        (("We're on Vespera 2.", "ok", "We're on Vespera 3 now."), "Is on Vespera 3."),
        (("Our billing talks to v1 of Fakturo.", "ok", "Actually it's v2, not v1."), "Billing talks to v2 of Fakturo."),
        (("Our vet is Dr Hahn.", "ok", "Correction: Dr Haan."), "Vet is Dr Haan."),
        (("Our deadline is 3 May.", "ok", "It moved to 10 May."), "Deadline is 10 May."),
        (("I prefer tea.", "ok", "Actually I prefer coffee."), "Prefers coffee."),
        (("Our crew has 14 members.", "ok", "Correction: 16 members."), "Crew has 16 members."),
        (("Our chair is Lou Berg.", "ok", "I misspoke: our chair is Lou Bergman."), "Chair is Lou Bergman."),
        (("Our vet is Dr Hahn.", "ok", "My mistake, Dr Haan."), "Vet is Dr Haan."),
        (("We meet on Mondays.", "ok", "Sorry, we meet on Tuesdays."), "Meets on Tuesdays."),
    ],
)
def test_the_last_statement_holds(texts, content):
    assert contents(*texts) == [content]


def test_an_addition_takes_nothing_back():
    assert contents("We use Marlin.", "ok", "Actually we also use Vespera.") == ["Uses Marlin.", "Uses Vespera."]


def test_repetition_adds_nothing():
    once = observe("We use Marlin for mail.")
    assert len(observe(*["We use Marlin for mail."] * 9).beliefs) == len(once.beliefs) == 1


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("We haven't decided whether to charge for wrapping.", "Undecided whether to charge for wrapping."),
        ("I'm torn between the harp and the cello.", "Undecided between the harp and the cello."),
        ("Not sure if we should renew the lease.", "Undecided whether to renew the lease."),
        ("The colour of the door is still undecided.", "Undecided about the colour of the door."),
        ("Should our van be red or blue? We can't agree.", "Undecided whether their van should be red or blue."),
    ],
)
def test_an_open_question_is_kept(text, content):
    belief = only(text)
    assert (belief.type, belief.content) == ("open_question", content)


@pytest.mark.parametrize(
    ("texts", "content"),
    [
        (("We haven't decided whether the API should speak REST or gRPC.", "Who calls?", "We're going with gRPC."),
         "Is going with gRPC for the API."),
        (("Should our guide be an app or a page? We can't agree.", "A page is easier.", "It's settled: a page."),
         "Decided on a page for their guide."),
        (("Still torn between Porto and Lisbon for the offsite.", "Porto is cheaper.", "Lisbon wins, we all voted."),
         "Decided on Lisbon for the offsite."),
        (("Not sure if we should renew the lease.", "Until when?", "June. No, we won't renew it."),
         "Decided not to renew the lease."),
        (("We're on the fence about a second kiln.", "Is it busy?", "Very. We'll buy a second kiln."),
         "Decided to buy a second kiln."),
        (("Not sure if we should sell cake.", "Why?", "Decision of the evening: no cake, we take waffles."),
         "Decided on waffles."),
        (("I'm torn between Porto and Lisbon for the offsite.", "Porto is cheaper.", "Ok, Porto it is."),
         "Decided on Porto for the offsite."),
    ],
)  # fmt: skip
def test_a_question_is_closed_by_its_answer(texts, content):
    observation = observe(*texts)
    assert [one.content for one in observation.beliefs] == [content]
    assert observation.answers[0].belief == observation.beliefs[0]
    assert observation.answers[0].question == observe(texts[0]).beliefs[0].canonical_name


@pytest.mark.parametrize(
    ("texts", "content"),
    [
        (("Which queue should we use?", "I suggest Marlin.", "Yes, let's go with Marlin."), "Decided on Marlin."),
        (("What should we call it?", "How about Lantern?", "Nice, we'll use that."), "Decided on Lantern"),
        (
            ("Where do keys go?", "You could use Vault or Bitwarden.", "Let's use the second one."),
            "Decided on Bitwarden",
        ),
        (("What should I print with?", "I'd recommend Typst.", "ok sold, we'll take Typst"), "Decided on Typst"),
        (
            ("Where do the logs go?", "You could put them on Vault.", "Good, let's do that."),
            "Decided on Vault for the logs",
        ),
        (("How do I set the theme?", "Which editor do you use?", "Helix."), "Editor is Helix."),
    ],
)
def test_a_suggestion_or_a_question_is_taken_up(texts, content):
    assert only(*texts).content.startswith(content)
    assert only(*texts).provenance.source == "user"


@pytest.mark.parametrize(
    "texts",
    [
        ("What would you use?", "I suggest Kafka. It sounds as if you prefer Kafka.", "Let me think about it."),
        ("What would you use?", "Shall I set up Kafka for you?", "yes please"),
        ("What would you use?", "I'd use Kafka.", "Not that one."),
        ("What would you use?", "Kafka. You use Kafka already, your region is eu-west-1.", "thanks"),
    ],
)
def test_a_suggestion_alone_is_nothing(texts):
    assert contents(*texts) == []


def test_what_an_assistant_says_of_the_user_is_inferred_if_asked_for():
    said = ("I use Vespera myself. You use Kafka. Your region is eu-west-1.", "ok")
    assert observe(*said, first="assistant").beliefs == ()
    found = observe(*said, first="assistant", roles=("user", "assistant")).beliefs
    assert [one.content for one in found] == ["Uses Kafka.", "Region is eu-west-1."]
    assert {one.provenance.source for one in found} == {"assistant"}
    assert not any(one.explicit for one in found)


def test_an_assistant_never_overrules_the_user():
    found = observe("Our carrier is DPD.", "Your carrier is GLS, not DPD.", roles=("user", "assistant")).beliefs
    assert [one.content for one in found] == ["Carrier is DPD."]


def test_a_tool_is_not_read_by_default():
    message = Message("tool", "User prefers dark mode. We use Bitbucket. Your region is eu-west-1.")
    assert RuleExtractor().extract([message], SCOPES) == Observation()
    found = RuleExtractor(roles=["tool"]).extract([message], SCOPES).beliefs
    assert [(one.content, one.provenance.source) for one in found] == [("Region is eu-west-1.", "tool")]


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("Since last week we track our hours in Toggl.", datetime(2024, 5, 13, tzinfo=UTC)),
        ("Yesterday we signed with Cargoline.", datetime(2024, 5, 21, tzinfo=UTC)),
        ("We switched to Vespera in March.", datetime(2024, 3, 1, tzinfo=UTC)),
        ("I stopped using Marlin two months ago.", datetime(2024, 3, 1, tzinfo=UTC)),
        ("We use Marlin for the races in March.", None),
    ],
)
def test_a_relative_date_counts_from_the_message(text, begun):
    assert only(text, at=AT).valid_from == begun
    assert only(text).valid_from is None
    assert only(text, at=AT.replace(tzinfo=None)).valid_from is None


def test_our_own_blocks_fed_back_yield_nothing_new():
    block = (
        "<pss-beliefs>\nOn record, a belief a line. We use Kafka. Our region is eu-west-1.\n"
        "- decision kafka — We use Kafka. | user said, 2026-01-01\n</pss-beliefs>"
    )
    sidecar = '<<<SIDECAR_JSON>>>{"new_beliefs": [{"content": "We use Kafka."}]}<<<END_SIDECAR>>>'
    assert observe(*[f"{block}\nthanks\n{sidecar}"] * 10, roles=("user", "assistant")) == Observation()


def test_messages_are_not_changed_and_the_same_gives_the_same():
    texts = ("We use Marlin, Vespera and Fluvial.", "ok", "We dropped Marlin for Foliant. Our carrier is DPD.")
    assert observe(*texts) == observe(*texts)


@pytest.mark.parametrize(
    "text", ["Hi Tom,\nfoo\n" * 2000, "we our the to from not or " * 4000, "a, " * 20_000, '"' * 5000]
)
def test_long_nonsense_gives_nothing(text):
    assert contents(text) == []


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Our staging server is called Otter.", "staging_server"),
        ("The cellar printer is known as Hedgehog.", "cellar_printer"),
    ],
)
def test_what_a_thing_is_called_is_filed_under_the_thing(said: str, name: str) -> None:
    (belief,) = RuleExtractor().extract([Message("user", said)], ["user:universal"]).beliefs
    assert belief.canonical_name == name
