"""Puts a sentence into plain order: "it's codeine I'm allergic to" is "I'm allergic to codeine"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.prose import Sentence

_WHO = r"(?P<who>we|i|(?:our|my|the) [\w-]+)"
_NAME = r"(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?"
_FORMS = (
    # the queue we use is Marlin
    (
        r"\bthe (?P<role>[\w-]+(?: [\w-]+)?) (?:that )?(?P<who>we|i) (?P<does>use|chose|run)(?P<for>(?: (?:for|in|"
        r"on) [^,;:]{2,40}?)?) "
        r"(?:is|are) (?:called )?(?P<what>(?-i:[A-Z])[^,;:]{1,40})",
        r"\g<who> \g<does> \g<what> as \g<role>\g<for>",
    ),
    # not from the one mill but from the other
    (r"\bnot (?:in|at|on|from|with|by|to)? ?[^,;:]{1,40}?,? but (?=(?:in|at|on|from|with|by|to) )", ""),
    (r"\bno longer [^,;:]{1,40}?,? but (?:now )?(?=\w)", "now "),
    # it is codeine (that) I am allergic to; it is forty-three ewes that we keep
    (
        rf"\bit is (?P<what>(?:[\w'-]+ ){{1,4}}?)(?:that |which |who )?{_WHO} (?P<does>(?:[\w'-]+ ){{0,3}}"
        r"(?:to|with|for|from|at|in|on|by|of|about))$",
        r"\g<who> \g<does> \g<what>",
    ),
    (rf"\bit is (?P<what>(?:[\w'-]+ ){{1,4}}?)(?:that|which) {_WHO} (?P<does>[\w'-]+)$", r"\g<who> \g<does> \g<what>"),
    # it is Noor who is allergic to cashews
    (rf"\bit is (?P<what>{_NAME}) (?:who|that|which) (?P<does>[a-z]+s )", r"\g<what> \g<does>"),
    # all we own is a Casio
    (
        r"\b(?:all|what) (?:that )?(?P<who>we|i) (?P<does>[a-z]+) (?:is|are) (?=(?:an?|the|our|\d|(?-i:[A-Z])))",
        r"\g<who> \g<does> ",
    ),
    # a Testo logger, that is what we use in the fridge
    (
        rf"(?:^|(?<=[,:] )|\b(?:in|into|with|to|from|by|on|at) )(?P<what>(?:an? )?[\w'.-]+(?: [\w'.-]+){{0,2}}), "
        rf"(?:that|which|this|it) is what "
        rf"{_WHO} (?P<does>(?:all )?[a-z]+)\b",
        r", \g<who> \g<does> \g<what>",
    ),
    # it is Siobhan, our treasurer
    (rf"\bit is (?P<what>{_NAME}), (?P<role>(?:our|my) [\w-]+(?: [\w-]+)?)\b", r"\g<what> is \g<role>"),
)
_PLAIN = tuple((re.compile(form, re.IGNORECASE), plain) for form, plain in _FORMS)
_DID_I_SAY = re.compile(r"did i (?:say|write|tell you)(?: that)? (?=(?:our|my|we|i|the)\b)", re.IGNORECASE)
_APPOSITION = re.compile(
    r"\b(?P<name>(?:(?:Mr|Mrs|Ms|Dr)\.? )?(?!I\b)[A-Z][\w'-]+(?: [A-Z][\w'-]+)?), (?P<role>(?:our|"
    r"my) [\w-]+(?: [\w-]+){0,3}), "
    r"(?=(?:\w+ly |always )?[a-z]+s )"
)


def in_plain_order(spoken: Sentence) -> Iterator[Sentence]:
    """The sentence without emphasis by word order; what an apposition says is a sentence of its own."""
    text = spoken.text
    if asked := _DID_I_SAY.match(text):
        spoken, text = replace(spoken, asks=False), text[asked.end() :]
    for form, plain in _PLAIN:
        text = form.sub(plain, text)
    if not spoken.asks and (aside := _APPOSITION.search(text)):
        yield Sentence(f"{aside['name']} is {aside['role']}", asks=False)
        text = f"{text[: aside.end('name')]} {text[aside.end() :]}"
    yield replace(spoken, text=text)
