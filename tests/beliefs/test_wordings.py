"""Plain free wordings that the rules read, and their look-alikes that say nothing lasting of the user."""

import pytest

from pss_integrations.beliefs.extraction import RuleExtractor
from pss_integrations.types import Message, Role

SCOPES = ("project:atlas",)


def said(*texts: str) -> list[tuple[str, str]]:
    """Type and content of what is taken from a conversation in which user and assistant take turns."""
    roles: tuple[Role, Role] = ("user", "assistant")
    messages = [Message(roles[n % 2], text) for n, text in enumerate(texts)]
    return [(one.type, one.content) for one in RuleExtractor().extract(messages, SCOPES).beliefs]


@pytest.mark.parametrize(
    ("text", "type", "content"),
    [
        # everyone
        ("Everyone's on Marlin now.", "decision", "Everyone is on Marlin."),
        ("Everybody here uses Fluvial.", "decision", "Everybody here uses Fluvial."),
        ("The volunteers are all on Marlin.", "entity", "Volunteers are all on Marlin."),
        ("Nobody here uses the pager any more.", "decision", "Nobody here uses the pager."),
        # who does what
        ("Ines handles the invoicing.", "entity", "Ines handles the invoicing."),
        ("Ruth Okoye runs our front desk.", "entity", "Ruth Okoye runs their front desk."),
        ("Payroll is outsourced to Nordlon.", "entity", "Payroll is outsourced to Nordlon."),
        ("Paul is the treasurer of our club.", "entity", "Treasurer of their club is Paul."),
        ("The deputy head is now Kwame Mensah.", "entity", "Deputy head is Kwame Mensah."),
        # what things are, and where they are
        ("The till is a Lumen 4.", "entity", "Till is a Lumen 4."),
        ("Bookings go through Fluvial.", "entity", "Bookings go through Fluvial."),
        ("The lab's sequencer is a Helix 9.", "entity", "Lab's sequencer is a Helix 9."),
        ("Our kitchen has no gas.", "entity", "Kitchen has no gas."),
        ("The lease on the studio is up in September.", "entity", "Lease on the studio is up in September."),
        # for how long
        ("I've been keeping bees since 2019.", "decision", "Has been keeping bees since 2019."),
        ("We've had Marlin since May.", "decision", "Has had Marlin since May."),
        ("Since 3 March our depot has been in Tilburg.", "entity", "Depot has been in Tilburg."),
        # who the user is
        ("I'm the only vet at a practice in Galway.", "entity", "Is the only vet at a practice in Galway."),
        ("We're a small bakery in Leeds.", "entity", "Is a small bakery in Leeds."),
        ("I live in Trondheim.", "decision", "Lives in Trondheim."),
        ("We milk 60 goats.", "decision", "Milks 60 goats."),
        ("I've got a Lumen X4.", "decision", "Has a Lumen X4."),
        ("I can't eat shellfish.", "decision", "Cannot eat shellfish."),
        # house rules
        ("We only take cash.", "decision", "Only takes cash."),
        ("Dogs aren't allowed in the tea room.", "entity", "Dogs are not allowed in the tea room."),
        ("Every sample gets a barcode.", "decision", "Every sample gets a barcode."),
        ("Tests must never touch the network.", "entity", "Tests must never touch the network."),
        ("We have no telemetry in the app.", "decision", "Has no telemetry in the app."),
        # decisions
        ("We ended up going with Ghent.", "decision", "Ended up going with Ghent."),
        ("The board signed off on the Lisbon trip.", "decision", "Board signed off on the Lisbon trip."),
        ("We agreed we'd skip the printed programme.", "decision", "Decided to skip the printed programme."),
        ("We're calling the café Driftwood.", "decision", "Calls the café Driftwood."),
        # what took the place of what
        ("Marlin is out, Fluvial is in.", "decision", "Uses Fluvial."),
        ("Goodbye Marlin, hello Fluvial!", "decision", "Uses Fluvial."),
        ("It was Marlin until May, now it's Fluvial.", "decision", "Uses Fluvial."),
        ("Fluvial has replaced Marlin here.", "decision", "Uses Fluvial."),
        ("No more Marlin for us.", "decision", "No longer uses Marlin."),
        ("I haven't used Marlin since 2022.", "decision", "Has not used Marlin since 2022."),
        # tastes
        ("I'm not keen on gradients.", "preference", "Is not keen on gradients."),
        ("Pop-ups drive me mad.", "preference", "Pop-ups drive them mad."),
        ("I find footnotes distracting.", "preference", "Finds footnotes distracting."),
        ("I'm more of a tea person.", "preference", "Is more of a tea person."),
        ("For calls I prefer mornings.", "preference", "Prefers mornings for calls."),
        ("For subscriptions I'd rather pay yearly.", "preference", "Would rather pay yearly for subscriptions."),
        ("I'd take a train over a plane any day.", "preference", "Would take a train over a plane."),
        # standing orders
        ("Please stop using emojis.", "preference", "Stop using emojis."),
        ("When you give me a recipe, use grams.", "preference", "Use grams when you give them a recipe."),
        ("I want all dates in ISO format.", "preference", "Wants all dates in ISO format."),
        ("For every recipe, list the allergens.", "preference", "List the allergens for every recipe."),
        ("Keep your answers under six lines.", "preference", "Wants answers under six lines."),
        ("No meetings before nine, ever.", "preference", "No meetings before nine ever."),
        # open
        ("The jury's still out on the venue.", "open_question", "Undecided about the venue."),
        ("We still haven't picked a caterer.", "open_question", "Undecided about a caterer."),
        ("Still open: the band.", "open_question", "Undecided about the band."),
        ("Open question: do we need a lift?", "open_question", "Undecided whether they need a lift."),
        ("Oslo or Bergen, we can't agree.", "open_question", "Undecided between Oslo and Bergen."),
        # what took the place of what, again
        ("I used to swim in the mornings but now I go in the evenings.", "decision", "Goes in the evenings."),
        ("Last month we switched to oat milk in the café.", "decision", "Switched to oat milk in the café."),
        ("I'm no longer vegan.", "decision", "Is no longer vegan."),
        ("The greenhouse isn't heated any more.", "decision", "Greenhouse is no longer heated."),
        ("I've left the choir.", "decision", "Has left the choir (no longer there)."),
        # what will be
        (
            "I've made up my mind: I'm going to sell the caravan.",
            "decision",
            "Decided to sell the caravan.",
        ),
        ("We won't renew the lease.", "decision", "Will not renew the lease."),
        ("The wedding will be in Ghent.", "entity", "Wedding will be in Ghent."),
        ("Our choice fell on the oak floor.", "decision", "Decided on the oak floor."),
        # likes and dislikes without "like"
        ("Goat cheese is my favourite.", "preference", "Goat cheese is their favourite."),
        ("Dark mode is what I prefer.", "preference", "Prefers Dark mode."),
        ("Nothing annoys me more than jargon.", "preference", "Cannot stand jargon."),
        ("For me it's dark chocolate every time.", "preference", "Prefers dark chocolate."),
        ("Please call me Jo.", "preference", "Wants to be called Jo."),
        # how things hang together
        ("Our tide model feeds the harbour dashboard.", "entity", "Tide model feeds the harbour dashboard."),
        ("The association is chaired by Mrs Adeyemi.", "entity", "Association is chaired by Mrs Adeyemi."),
        ("Deliveries are planned in Routific.", "entity", "Deliveries are planned in Routific."),
        ("Our flour comes not from Müller but from Drax Mill.", "entity", "Flour comes from Drax Mill."),
        ("My landlord is Mr Petrov.", "entity", "Landlord is Mr Petrov."),
        ("We rent our hall from the rowing club.", "decision", "Rents their hall from the rowing club."),
        # days told from today
        ("The grant application is due tomorrow.", "entity", "Grant application is due tomorrow."),
        ("My visa runs out in two months.", "entity", "Visa runs out in two months."),
        ("Next year I'm retiring.", "decision", "Is retiring."),
        ("From tomorrow on our office is in Delft.", "entity", "Office is in Delft."),
        # what is not so
        ("Our honey isn't organic.", "entity", "Honey is not organic."),
        ("Our soap doesn't contain palm oil.", "entity", "Soap does not contain palm oil."),
        ("I don't have a driving licence.", "decision", "Does not have a driving licence."),
        ("We work without a contract.", "decision", "Works without a contract."),
        ("None of our teachers are paid.", "decision", "None of their teachers are paid."),
        # open in other words
        ("Who drives the bus is still open.", "open_question", "Undecided who drives the bus."),
        ("One thing remains up in the air: the manual.", "open_question", "Undecided about the manual."),
        ("A decision on the roof is still pending.", "open_question", "Undecided about the roof."),
        # without a subject
        ("can't stand coriander", "preference", "Cannot stand coriander."),
        ("going with Fluvial", "decision", "Is going with Fluvial."),
        ("not sure yet which courier we'll use", "open_question", "Undecided which courier they will use."),
    ],
)
def test_free_wordings_are_read(text, type, content):
    assert said(text) == [(type, content)]


@pytest.mark.parametrize(
    "text",
    [
        "Everyone's talking about Marlin.",
        "Everyone is on holiday.",
        "The whole team is on site today.",
        "Nobody here knows.",
        "Python handles memory for you.",
        "Excel handles the rounding badly.",
        "My neighbour Ines handles the invoicing at the town hall.",
        "Anna does her homework.",
        "The site is down.",
        "The oven is at 230 now.",
        "The document is in French.",
        "The printer is out of paper.",
        "Our page has no title.",
        "The war ends in May.",
        "I've been waiting for an hour.",
        "I've been trying to fix this since March.",
        "I've had a headache since Easter.",
        "I'm a bit of a beginner.",
        "I'm on the train.",
        "I'm the one who asked.",
        "I live in fear of the auditor.",
        "I have a JSON array like this.",
        "I have a meeting at nine.",
        "We have two people waiting.",
        "I can't eat now.",
        "My sister keeps goats.",
        "I only changed one line.",
        "Cookies are required for login.",
        "Every page gets an error 500.",
        "Every line needs a semicolon.",
        "We have no idea.",
        "The committee asked for a draft.",
        "The board approved the minutes.",
        "If we ended up going with Ghent, what would it cost?",
        "Power is out, the fridge is warm.",
        "Monday is out, Tuesday is in.",
        "Charles replaced Anna in the play.",
        "No more questions for now.",
        "We're done for today.",
        "That bug drives me mad.",
        "The noise drives me mad.",
        "I find this helpful.",
        "I'd take the second one.",
        "I'm tired of waiting.",
        "Stop the timer.",
        "When you're done, send it to Ruth.",
        "When you write the letter, use grams.",
        "I want all three files as a zip.",
        "For every row, print the sum.",
        "Keep this one under six lines.",
        "It's between 4 and 5 degrees.",
        "We still haven't received the parcel.",
        "Open: README.md",
        "I can't decide.",
        "love it",
        "going for a walk now",
        "moved to the next chapter",
        '"Everyone\'s on Marlin now" is a bad slogan.',
        "Apparently Paul is the treasurer of our club.",
        "We could be closed next week.",
        "The meeting is over.",
        "The train leaves next Monday.",
        "The parcel comes tomorrow.",
        "Yesterday I became very tired.",
        "I left my umbrella on the bus.",
        "The button doesn't work any more.",
        "I'm going to buy milk.",
        "The concert will be great.",
        "The decision was hard.",
        "The second one is my favourite.",
        "I appreciate your help.",
        "Call me tomorrow.",
        "Always a pleasure.",
        "Our dog is next to the stove.",
        "The heart pumps blood through the body.",
        "The book is written in French.",
        "My boss is in a bad mood.",
        "My sister runs marathons.",
        "My tea isn't hot.",
        "Our flight isn't on time.",
        "I'm not a robot.",
        "The window is still open.",
        "How the story ends is open.",
        "I'm undecided whether Marta wants tea.",
        "Our clinic closes at six, doesn't it?",
        "Is this spam? > I have decided to give you my fortune.",
        "I don't like my chances of catching the 17:12.",
        "I decided to have pasta tonight.",
        "Is everyone on Marlin now?",
        "Back then everybody here used Marlin.",
    ],
)
def test_their_look_alikes_are_left(text):
    assert said(text) == []


@pytest.mark.parametrize(
    ("texts", "content"),
    [
        (("We're torn between Rhodes and Naxos for the regatta.", "Naxos has wind.", "Naxos."), "Decided on Naxos"),
        (("We haven't decided whether to get a van.", "Who decides?", "She said yes!"), "Decided to get a van."),
        (("Should we get a van? We can't agree.", "Who decides?", "The board said no."), "Decided not to get a van."),
        (("need a wiki tool", "Lantern or Fluvial would do.", "Lantern it is"), "Decided on Lantern."),
        (
            ("How do we label jars?", "You could use the batch number.", "ok, that's what we'll do"),
            "Decided on the batch",
        ),
    ],
)
def test_what_was_asked_is_settled_in_passing(texts, content):
    found = said(*texts)
    assert len(found) == 1
    assert found[0][1].startswith(content)


def test_a_yes_of_others_settles_nothing_that_was_not_asked():
    assert said("My sister asked him.", "And?", "She said yes!") == []


def test_a_person_without_a_name_is_the_one_named_before():
    assert said("When do I cancel Fluvial? Our contract with them runs until May 2027.") == [
        ("entity", "Contract with Fluvial runs until May 2027.")
    ]


@pytest.mark.parametrize(
    ("asked", "answer", "content"),
    [
        (
            "Who's going to give the speech is still open.",
            "The speech will be given by Ines.",
            "Speech will be given by Ines.",
        ),
        ("Who plays the organ is open.", "Bettina plays the organ.", "Bettina plays the organ."),
        (
            "We haven't picked a keynote speaker yet.",
            "The keynote speaker is Agnes Obel.",
            "Keynote speaker is Agnes Obel.",
        ),
        ("The colour of the boat is still open.", "We've agreed: the boat will be green.", "Boat will be green."),
        ("Whether to buy or lease the van is open.", "We'll lease the van.", "Will lease the van."),
    ],
)
def test_an_answer_in_words_of_its_own_settles_a_question(asked, answer, content):
    assert [one[1] for one in said(asked, "Noted.", answer)] == [content]


@pytest.mark.parametrize(
    ("asked", "remark"),
    [
        ("Whether the pool gets a roof is open.", "The pool is cold today."),
        ("Who plays the organ is open.", "The organ plays out of tune."),
        ("I can't decide between oak and ash.", "Oak is heavier."),
        ("The colour of the boat is still open.", "The boat is 9 metres long."),
    ],
)
def test_a_remark_about_the_same_thing_settles_nothing(asked, remark):
    assert said(asked, "Noted.", remark)[0][0] == "open_question"


@pytest.mark.parametrize(
    ("wrong", "right", "content"),
    [
        ("Our clinic closes at five.", "Sorry, I misspoke: our clinic closes at six.", "Closes at six."),
        ("Our shop opens at nine.", "Sorry, it opens at ten.", "Opens at ten."),
        ("We meet on Mondays.", "I got that wrong, we meet on Fridays.", "Meets on Fridays."),
        ("We have six hens.", "Actually seven hens.", "Has seven hens."),
        ("Our till is a Lumen.", "Wrong, it's a Helix.", "Till is a Helix."),
    ],
)
def test_what_was_said_wrong_is_said_again(wrong, right, content):
    found = [one[1] for one in said(wrong, "Done.", right)]
    assert len(found) == 1
    assert found[0].casefold().endswith(content.casefold())


def test_the_name_before_is_the_person_who_does_it():
    assert said("Ask Osman. He runs our kitchen.") == [("entity", "Osman runs their kitchen.")]


@pytest.mark.parametrize(
    ("text", "type", "content"),
    [
        # habits, without a word that any rule names
        ("We thatch roofs with water reed.", "decision", "Thatches roofs with water reed."),
        ("I mark essays in green ink.", "decision", "Marks essays in green ink."),
        ("We graze our sheep on the dyke.", "decision", "Grazes their sheep on the dyke."),
        ("At work we write our specs in AsciiDoc.", "decision", "Writes their specs in AsciiDoc."),
        ("I can't swim.", "decision", "Cannot swim."),
        ("I'm not insured for rental cars.", "decision", "Is not insured for rental cars."),
        ("I've lived in Malmö for six years.", "decision", "Has lived in Malmö for six years."),
        # things
        ("Our reading room seats forty.", "entity", "Reading room seats forty."),
        ("The orchard belongs to my aunt.", "entity", "Orchard belongs to their aunt."),
        ("The alarm is linked to the fire station.", "entity", "Alarm is linked to the fire station."),
        ("Our boat is nine metres long.", "entity", "Boat is nine metres long."),
        ("My probation ends in October.", "entity", "Probation ends in October."),
        ("There are 140 members in our club.", "entity", "There are 140 members in their club."),
        # people
        ("My son doesn't eat fish.", "entity", "Son does not eat fish."),
        ("Grandma has given up driving, so we need a train.", "entity",
         "Grandma has given up driving (no longer driving)."),
        ("Dr. Amari treats my knee.", "entity", "Dr. Amari treats their knee."),
        # order of words
        ("It's codeine I'm allergic to.", "entity", "Is allergic to codeine."),
        ("All we own is a Casio.", "decision", "Owns a Casio."),
        ("I'm selling the flat, that's settled.", "decision", "Is selling the flat."),
        ("Sold the road bike, bought a gravel bike.", "decision", "Sold the road bike, bought a gravel bike."),
        ("In case you wonder, I'm a vet.", "entity", "Is a vet."),
    ],
)  # fmt: skip
def test_any_clause_that_lasts_is_read(text, type, content):
    assert said(text) == [(type, content)]


def test_an_apposition_is_a_statement_of_its_own():
    found = [one[1] for one in said("Tom, my brother-in-law, does my taxes every year.")]
    assert found == ["Brother-in-law is Tom.", "Tom does their taxes every year."]


def test_a_pronoun_in_a_later_clause_stands_for_the_subject():
    found = [one[1] for one in said("Backups run at 2 am, they go to Backblaze.")]
    assert found == ["Backups run at 2 am.", "Backups go to Backblaze."]


@pytest.mark.parametrize(
    "text",
    [
        "The smell has got stronger over the last days.",
        "My boss came in with another pile of forms.",
        "The first coat dried with streaks.",
        "I turned the screw a quarter and the noise stopped.",
        "My daughter laughed when she saw it.",
        "The leaflet says our area has hard water.",
        "The neighbours' boy practises the drums every evening.",
        "In Denmark people leave prams outside.",
        "Mars has two moons.",
        "I bought apples at the market.",
        "We've run out of paper.",
        "The server returns a 502.",
        "Every time I open a cupboard I find photos.",
        "I'm going to put my feet up until Monday.",
        "Today our shop closes early.",
        "My phone is at 3 percent.",
        "I get a blank page after logging in.",
        "I've tried restarting it twice.",
        "A friend of mine runs a bar in Lisbon.",
        "If my mother were here, she would use butter.",
    ],
)
def test_what_passes_is_left(text):
    assert said(text) == []
