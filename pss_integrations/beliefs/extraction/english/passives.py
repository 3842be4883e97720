"""Rules for who or what takes care of the user's things: "the club is chaired by Ms Rao", "Greta, our bookkeeper"."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, rule
from pss_integrations.beliefs.extraction.english.clauses import Clause, clause, is_name, terms
from pss_integrations.beliefs.extraction.english.facts import OUR_THING, fact, subject_of
from pss_integrations.beliefs.extraction.english.grammar import FAILURE, NOUNS, OPENING, PASSING, is_lasting, is_own

_LANGUAGE = re.compile(
    r"(?:English|French|German|Spanish|Italian|Dutch|Latin|PDF|CSV|JSON|HTML|XML|\w+day|January|February|March|April|"
    r"May|June|"
    r"July|August|September|October|November|December)\b"
)
_BY = (
    r"(?:chaired|led|run|headed|owned|managed|conducted|taught|edited|coached|looked after|maintained|supplied|"
    r"sponsored|"
    r"funded|directed|hosted|kept|cleaned|tuned|serviced|delivered|cooked|curated|moderated|trained|supervised|"
    r"represented|"
    r"insured|designed|organi[sz]ed|handled|staffed|printed|bottled|roasted|baked|audited|done)"
)
_KEPT = (
    r"(?:planned|written|run|managed|handled|tracked|stored|kept|booked|logged|done|recorded|scheduled|filed|"
    r"archived|billed|"
    r"edited|sent|paid|sold|collected|printed|posted|entered|signed|shared)"
)
_ROLE = (
    r"(?:(?:new|head|chief) )?(?:bookkeeper|accountant|treasurer|caretaker|conductor|landlord|landlady|cook|chef|"
    r"gardener|"
    r"cleaner|lawyer|vet|dentist|tax advis[eo]r|secretary|chairwoman|chairman|chair|coach|trainer|tutor|supplier|"
    r"roofer|"
    r"plumber|electrician|organist|choirmaster|janitor|webmaster|editor|supervisor|deputy|sponsor|patron|midwife|baker|"
    r"brewer|miller|technician)"
)
_NAME = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?"


def _run_by(found: re.Match[str], after: str) -> Claim | None:
    """``The association is chaired by Mrs Adeyemi``, ``deliveries are planned in Routific``."""
    subject, said = found["what"].strip(), clause(after)
    is_ours = is_own(subject) and terms(subject) and not is_name(subject[1:])
    is_ours = is_ours and not (subject[:1].isupper() and "the " in found[0].lower())
    if not is_ours or _LANGUAGE.match(said.text) or PASSING.search(found.string) or FAILURE.search(after):
        return None
    return fact(subject, found["verb"], said)


def _role(found: re.Match[str], _after: str) -> Claim | None:
    """``Greta, our bookkeeper, will call``, ``our bookkeeper Greta``."""
    return fact(found["role"], "is", Clause(found["name"]))


def _not_but(found: re.Match[str], after: str) -> Claim | None:
    """``Our flour comes not from Müller but from Drax Mill``."""
    subject = subject_of(found)
    if not is_lasting(subject) or not terms(subject) or not terms(clause(after).text):
        return None
    claim = fact(subject, found["verb"], clause(f"{found['link'] or ''}{after}"))
    return Claim(
        claim.kind, claim.type, claim.name, claim.content, claim.value, claim.aliases, (clause(found["old"]).thing,)
    )


def _for_it(found: re.Match[str], after: str) -> Claim | None:
    """``For payroll it's Datev``, ``I've got my recipes in Paprika``."""
    said = clause(after)
    if (
        not is_own(found["what"])
        or not terms(found["what"])
        or PASSING.search(found.string)
        or _LANGUAGE.match(said.thing)
    ):
        return None
    return fact(found["what"], found.groupdict().get("verb") or "is", said)


PASSIVES: tuple[Rule, ...] = (
    rule(
        _for_it,
        OPENING,
        rf"for (?:the |our |my )?(?P<what>(?!me\b|us\b){NOUNS}),? it is (?:always |now )?(?=(?-i:[A-Z])\w+$)",
    ),
    rule(_for_it, rf"\b(?:we|i) have (?:all )?(?:our|my) (?P<what>{NOUNS}) (?P<verb>in|on) (?=(?-i:[A-Z]))"),
    rule(
        _not_but,
        OUR_THING,
        r"(?P<verb>[a-z]+) not (?P<old>[^,;:]{2,40}?),? but (?P<link>(?:from|in|on|at|to|with|by) )?",
    ),
    rule(
        _run_by,
        OPENING,
        rf"(?:the |our |my |all (?:of )?(?:our|the) )?(?P<what>{NOUNS}) (?P<verb>(?:is|are) (?:now |all |usually "
        rf")*{_BY} by) "
        rf"(?={_NAME})",
    ),
    rule(
        _run_by,
        OPENING,
        rf"(?:the |our |my |all (?:of )?(?:our |the )?)?(?P<what>{NOUNS}) (?P<verb>(?:is|are) (?:now |all |usually "
        rf")*{_KEPT} "
        rf"(?:in|with|via|through|using|on)) (?=(?:an? )?(?-i:[A-Z])\w)",
    ),
    rule(_role, rf"(?P<name>{_NAME}), (?:who is )?(?:our|my) (?P<role>{_ROLE})(?=,|$| and\b)"),
    rule(_role, rf"\b(?:our|my) (?P<role>{_ROLE})(?:, | )(?P<name>{_NAME})(?=$|,| (?!(?:is|was)\b)[a-z])"),
)
