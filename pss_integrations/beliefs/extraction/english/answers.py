"""What settles an open question: an option, the question's own words, or somebody's yes."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, claim_of
from pss_integrations.beliefs.extraction.english.clauses import Clause, clause, is_name, is_thing, sentence, terms
from pss_integrations.beliefs.extraction.english.parsing import statements
from pss_integrations.beliefs.extraction.english.prose import Sentence
from pss_integrations.beliefs.extraction.english.vetoes import is_stated
from pss_integrations.beliefs.names import name_key
from pss_integrations.text import FUNCTION_WORDS, tokenize

_WILL = re.compile(
    r"\b(?:we|i) (?:will|shall|(?:are|am)(?= (?:not )?going to )|(?:have )?(?:decided|agreed)(?= (?:not )?to ))"
    r"(?P<neg> not)?(?: going)?(?: to)? (?P<verb>[a-z]+) (?P<what>.+)",
    re.IGNORECASE,
)

_TAKE = re.compile(r"get|buy|take|use|keep|have|rent|hire|order|book|choose|pick|make|add|build", re.IGNORECASE)

_IT = re.compile(r"(?:it|them|that|the)\b", re.IGNORECASE)

_APPROVED = re.compile(
    r"\b(?:she|he|they|(?:the|our|my) \w+|(?-i:[A-Z])\w+) (?:has |have |just |all )*(?:said (?:yes|(?P<no>no))|agreed|"
    r"approved(?: it)?|gave (?:us |me |it )?(?:the |a |their )?(?:green light|go-ahead|ok|okay|thumbs up|blessing))\b|"
    r"\b(?:it|that) is a yes\b",
    re.IGNORECASE,
)

_HEDGED = re.compile(r"\b(?:if|unless|maybe|not yet|might|would|but)\b", re.IGNORECASE)

_FOR_IT = re.compile(r"(?P<option>[^,;:]+?) for (?:the|our|my) [\w' -]{2,40}$", re.IGNORECASE)
_VERDICT = re.compile(
    r"^(?:(?:ok|okay|right|so|yes|well|good news|great news|update|news|by the way|btw|now|and|finally|(?:we|i) "
    r"(?:have )?"
    r"(?:now )?(?:agreed|decided|settled)(?: it)?(?: now| at last)?(?: that)?|it is (?:settled|decided|official)(?: "
    r"now)?|"
    r"decision made|it is (?:now )?fixed)\b[,:.]? )*",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"(?:(?:the|our) )?(?P<topic>[\w'-]+(?: [\w'-]+)?) is (?:now )?(?:settled|decided|fixed)(?: now)?[:,] (?:it is |"
    r"it will be |we "
    r"(?:go|went|are going) with )?(?P<told>[^,;:]{2,50})",
    re.IGNORECASE,
)
_WE_DO = re.compile(
    r"(?P<who>we|i) (?P<act>(?:will |are going to |am going to |are |am |have )?(?!(?:not|need|want|have|are|am|do|"
    r"did)\b)"
    r"(?P<verb>[a-z]+)) (?P<told>.+)",
    re.IGNORECASE,
)
_WHO_DOES = re.compile(
    r"(?P<act>it (?:is|will be)) (?P<who>(?-i:[A-Z])[\w'-]+) who (?:will )?(?P<verb>[a-z]+) (?P<told>.+)", re.IGNORECASE
)
_BASE = re.compile(r"^(?:will|are going to|am going to) ", re.IGNORECASE)
_TELLS = re.compile(
    r"^(?:(?:the |our )(?P<topic>[\w'-]+(?: [\w'-]+)?) is (?:settled|decided|fixed)(?: now)?[,:] )?(?P<subject>it|"
    r"(?:(?:the|our|my) )?(?!(?:we|i|you|he|she|they|this|that|there|what)\b)[\w'-]+(?: [\w'-]+){0,4}?) "
    r"(?P<verb>(?:will|is going to|are going to) [a-z]+|is|are|takes? place|takes?|plays?|leads?|drives?|gives?|does|"
    r"runs?|"
    r"gets?|goes to|stays?|writes|opens|keeps|looks after|hosts|cooks|bakes|speaks|sings|chairs|moves to|starts|pays|"
    r"brings|"
    r"has (?:agreed|offered|volunteered) to [a-z]+)(?: (?P<told>.+)|$)",
    re.IGNORECASE,
)
_STILL_OPEN = re.compile(
    r"\b(?:still|yet|open|undecided|unclear|question|hard|difficult|important|tricky|nice|lovely|both|either|wrong|"
    r"fault|"
    r"depends?|not sure|settled|decided|problem|discuss\w*|until|next on|urgent|would|could|should)\b",
    re.IGNORECASE,
)
_LONGEST = 10  # words of an answer; what is longer tells something else

_ACT = re.compile(r"^to [a-z]+ ", re.IGNORECASE)


def act_asked(question: Claim) -> tuple[str, str] | None:
    """What one would do: ``renew`` and ``the licence`` of "Undecided whether to renew the licence"."""
    found = re.match(r"Undecided whether (?:to|they) (?P<verb>[a-z]+) (?P<what>[^,]+)\.$", question.content)
    return (found["verb"], found["what"]) if found and not options(asked_by(question)) else None


def carried_out(spoken: Sentence, question: Claim) -> Claim | None:
    """The answer in the question's own words: "no, we won't renew it", "we'll get a second printer"."""
    found = _WILL.search(spoken.text)
    if found is None or spoken.asks or not is_stated(found, spoken):
        return None
    verb, what = act_asked(question) or ("", "")
    if found["verb"].lower() != verb or not _IT.match(found["what"]):
        verb, what = found["verb"].lower(), clause(found["what"]).text
        if not _TAKE.fullmatch(verb) or question.aliases[0].lower() not in what.lower():
            return None
    content = sentence("decided", "not" if found["neg"] else "", "to", verb, what)
    return claim_of("decide", Clause(what), content, name=question.name, aliases=question.aliases)


def chosen(spoken: Sentence, question: Claim) -> Claim | None:
    """The answer by an option alone: "torn between Rhodes and Naxos", "Naxos."."""
    said = re.sub(r"^(?:(?:ok|okay|right|so|yes|well|definitely)\b,? )*", "", spoken.text, flags=re.IGNORECASE)
    open_for = options(asked_by(question))
    if found := _FOR_IT.match(said):
        said = found["option"]
    if spoken.asks or name_key(said) not in {name_key(one) for one in open_for}:
        return None
    return claim_of("decide", Clause(said), sentence("decided on", said, purpose(question)))


def approved(spoken: Sentence, question: Claim) -> Claim | None:
    """The answer that somebody else gave: "she said yes, so ...", "the board gave us the go-ahead"."""
    found = _APPROVED.search(spoken.text)
    asked = re.match(r"Undecided whether (?P<what>.+)\.$", question.content)
    if found is None or asked is None or spoken.asks or " or " in asked["what"] or _HEDGED.search(spoken.text):
        return None
    what = asked["what"]
    if found["no"]:
        what = f"not {what}" if what.startswith("to ") else f"not: {what}"
    content = sentence("decided" if what.startswith(("to ", "not ")) else "decided that", what)
    return claim_of("decide", Clause(asked["what"]), content, name=question.name, aliases=question.aliases)


def answered(spoken: Sentence, question: Claim) -> Claim | None:
    """The answer in a sentence about what was open: "the organ will be played by Bettina", "Bettina plays it"."""
    asked = {*tokenize(asked_by(question))} - FUNCTION_WORDS
    if (settled := _SETTLED.fullmatch(spoken.text)) and asked.intersection(tokenize(settled["topic"])):
        content = sentence(settled["topic"], "is", settled["told"])
        return claim_of("decide", Clause(settled["told"]), content, name=question.name, aliases=question.aliases)
    plain = _VERDICT.sub("", spoken.text)
    if act := _acted(plain, question):
        return None if spoken.asks else act
    if told := _who_does(plain, question):
        return None if spoken.asks else told
    found = _TELLS.match(plain)
    if found is None or spoken.asks or _HEDGED.search(spoken.text) or _STILL_OPEN.search(spoken.text):
        return None
    said, subject = clause(found["told"] or "").text, found["subject"]
    new = [word for word in tokenize(f"{subject} {said}") if word not in asked | FUNCTION_WORDS]
    if not new or len(said.split()) > _LONGEST or not _is_about(found, said, question, asked):
        return None
    subject = next(iter(topic(question)), "it") if subject.lower() == "it" else subject
    content = sentence(re.sub(r"^(?:the|our|my) ", "", subject, flags=re.IGNORECASE), found["verb"], said)
    return claim_of("decide", Clause(said), content, name=question.name, aliases=(*question.aliases, *terms(said)))


def _is_about(found: re.Match[str], said: str, question: Claim, asked: set[str]) -> bool:
    """Whether a sentence tells what was asked, and not merely something of what the question is about."""
    verb, shared = found["verb"].lower(), asked.intersection(tokenize(found["subject"]))
    acts, is_plan = asked.intersection(tokenize(verb)), _PLAN.match(verb) is not None
    if found["subject"].lower() == "it":
        return re.match(r"(?:will|is going to) be$", verb) is not None
    if not is_thing(found["subject"]):
        return False
    if question.content.startswith("Undecided who "):
        by_whom = " by " in f" {said}" and (is_plan or verb in ("is", "are"))
        return by_whom if shared else bool(acts) and (not said or bool(asked.intersection(tokenize(said))))
    if verb in ("is", "are"):
        aspect = next((word for word in tokenize(asked_by(question)) if word in asked), "")
        is_told = aspect in shared or aspect in _WHEN or (aspect in _WHERE and re.match(r"(?:in|at|on) ", said))
        return bool(shared and is_told) and is_name(said)
    return bool(shared) if is_plan else bool(acts and (shared or asked.intersection(tokenize(said))))


_PLAN = re.compile(r"will |is going to |are going to |takes? place|goes to|moves to|has (?:agreed|offered|volunteered)")
_WHEN, _WHERE = ("date", "day", "time", "deadline"), ("venue", "place", "location", "hall")


def _acted(plain: str, question: Claim) -> Claim | None:
    """The answer by the act that was asked about: "we rented the Kursaal", "it's Miriam who drives"."""
    found = _WE_DO.match(plain) or _WHO_DOES.match(plain)
    stems = {_stem(word) for word in tokenize(asked_by(question))} - FUNCTION_WORDS
    if (
        found is None
        or stems.isdisjoint(map(_stem, tokenize(found["verb"])))
        or _HEDGED.search(plain)
        or _STILL_OPEN.search(plain)
    ):
        return None
    said = clause(found["told"]).text
    new = {_stem(word) for word in tokenize(f"{found['who']} {said}")} - stems - FUNCTION_WORDS
    is_choice = new or " or " in asked_by(question)
    if not is_choice or len(said.split()) > _LONGEST or re.match(r"(?:not|it|them|that|this)\b", said):
        return None
    who = "" if found["who"].lower() in ("we", "i") else found["who"]
    content = sentence(who or "will", found["verb"] if who else _BASE.sub("", found["act"]), said)
    return claim_of("decide", Clause(said), content, name=question.name, aliases=(*question.aliases, *terms(said)))


def _who_does(plain: str, question: Claim) -> Claim | None:
    """The answer by who does it: "Ms Adeyemi is taking over the class"."""
    if not question.content.startswith("Undecided who ") or _HEDGED.search(plain) or _STILL_OPEN.search(plain):
        return None
    asked = {_stem(word) for word in tokenize(asked_by(question))} - FUNCTION_WORDS
    for one in statements(plain):
        said = clause(one.rest).text
        shared = asked.intersection(map(_stem, tokenize(f"{one.said} {one.verb} {said}")))
        if one.who == "named" and one.tense in ("present", "progressive", "future") and len(shared) > 1:
            content = sentence(one.subject, *one.words, one.said, said)
            aliases = (*question.aliases, one.subject)
            return claim_of("decide", Clause(said), content, name=question.name, aliases=aliases)
    return None


def _stem(word: str) -> str:
    return re.sub(r"(?:ing|ed|es|s|e)$", "", word) if len(word) > 3 else word


def asked_by(question: Claim) -> str:
    """The words of an open question, without its introduction."""
    return re.sub(r"^Undecided \w+ |\.$", "", question.content)


def options(question: str) -> tuple[str, ...]:
    """What a question lets one choose from: the phrases beside "or", or between "between" and "and"."""
    found = re.search(r"(?:^|\bbetween )(.+?),? \b(?:or|vs\.?|versus|and) (.+)", question)
    if found is None:
        return ()
    left, right = terms(found[1]), terms(clause(found[2]).thing)
    return (*left[-1:], *right[:1])


def topic(question: Claim) -> tuple[str, ...]:
    """What a question is about, apart from its options."""
    asked = asked_by(question)
    chosen = options(asked)
    return tuple(term for term in terms(_ACT.sub("", asked)) if term not in chosen)


def purpose(question: Claim) -> str:
    """What a question is about, as one adds it to its answer: ``for the retreat``."""
    asked = asked_by(question)
    if found := re.search(r" for (?:the|their|an?) [^,]+$", asked):
        return found[0].strip()
    found = re.match(r"(?P<what>(?:the|their) [^,]+?) should ", asked)
    return f"for {found['what']}" if found else ""


def settles(claim: Claim, question: Claim) -> bool:
    """Whether a decision answers an open question: it takes one of the options, or names what was asked about."""
    said = set(tokenize(f"{claim.value} {' '.join(claim.aliases)}"))
    asked = options(asked_by(question)) or question.aliases
    return not said.isdisjoint(tokenize(" ".join(asked)))
