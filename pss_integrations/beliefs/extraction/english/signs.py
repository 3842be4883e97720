"""Signs by which a clause tells what lasts from what does not, and the nouns that belong to either."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.clauses import is_name
from pss_integrations.beliefs.extraction.english.grammar import GROUP, HABIT, TIME
from pss_integrations.beliefs.extraction.english.lexicon import ROLES
from pss_integrations.beliefs.extraction.english.parsing import Statement

DEICTIC = re.compile(
    r"(?:to |with |on |in |at |for |about |from |of )?(?:this|that|these|those|it|them|him|her|you|your|here|there|"
    r"what|how|why|whether|if|so|one(?= of|$)|ones|same|something|anything$|nothing|everything$|(?:the )?(?:(?:next|"
    r"last)(?! (?:year|month|week|quarter|spring|summer|autumn|fall|winter|\w+day)\b)|first|second|same|other|"
    r"following))\b",
    re.IGNORECASE,
)
STATE = re.compile(
    r"\b(?:\w+ly |so |too |very |a bit |a little |still |not |all |back |right |almost |pretty |rather |quite )*"
    r"(?:broken|slow|down|stuck|wrong|missing|late|ready|fine|okay?|good|bad|great|nice|better|worse|best|worst|weird|"
    r"odd|strange|different|full|empty|sure|unsure|happy|unhappy|sad|tired|busy|sick|ill|sore|unclear|clear|easy|hard|"
    r"difficult|complicated|done|over|correct|incorrect|pending|delayed|behind|ahead|about to|supposed|able|unable|"
    r"likely|unlikely|possible|impossible|like|kind of|sort of|gone|up|off|out|on it|away|home|back|useless|lovely|"
    r"perfect|amazing|terrible|awful|horrible|beautiful|brilliant|funny|cold|hot|warm|wet|dirty|noisy|loud|quiet|long|"
    r"short|old|new|big|small|huge|tiny|expensive|cheap|important|necessary|welcome|curious|interested|afraid|sorry|"
    r"glad|worried|excited|nervous|keen|aware|sleepy|hungry|thirsty|lost|true|false|hopeless|red|green|stale|"
    r"the (?:same|best|worst|problem|issue|point|case|reason|question|trouble)|in (?:love|doubt|trouble|pain|need|use)|"
    r"an? (?:bit|mess|joke|pain|disaster|nightmare|shame|pity|good|great|bad|nice|lovely|terrible|problem|mystery|"
    r"swamp|moron|idiot|fool|genius|robot|beginner|fan|lie|myth))\b",
    re.IGNORECASE,
)
"""How one feels, and how a thing fares or is liked."""

FEELING = re.compile(
    r"an? (?:bad|great|weird|odd|strange|nice|lovely|terrible|awful|horrible|sore|funny|hard|long|quick|good|happy|"
    r"busy) \w",
    re.IGNORECASE,
)
EVENT = re.compile(
    r"\b(?:meeting|call|question|idea|problem|issue|feeling|cold|headache|draft|list|file|version|error|minute|doubt|"
    r"thought|look|chance|luck|time|guest|visitor|hunch|point|reason|trouble|fun|choice|plan|clue|backlog|array|"
    r"table|appointment|flight|train|impression|complaint|argument|chat|day|week|lot|bug|hour|request|favou?r|bus|"
    r"exam question|break|fear|go|try)s?(?= left| waiting| over|$)",
    re.IGNORECASE,
)
"""What one has for a while."""

OCCASION = re.compile(
    r"\b(?:(?:meeting|call|question|idea|problem|issue|error|appointment|impression|chat|request|turn|lunch|dinner|"
    r"break)s?|"
    r"flight|train|bus|parcel|first|last|next)$",
    re.IGNORECASE,
)
"""What takes place once."""

AT_HAND = re.compile(
    r"\b(?:documents?|pages?|titles?|files?|texts?|pdf|drafts?|charts?|sheets?|scripts?|letters?|photos?|pictures?|"
    r"attachments?|outputs?|logs?|links?|buttons?|paragraphs?|sections?|chapters?|images?|figures?|prints?|copy|"
    r"quotes?|poems?|songs?|stor(?:y|ies)|answers?|lines?|rows?|cells?|words?|mails?|e-?mails?|sauces?|bill|rest|bread|"
    r"half|board)$",
    re.IGNORECASE,
)
"""What is being worked on."""

PASSING_PLACE = re.compile(
    r"(?:on|in|at|off|out|up|down|about|near|under|behind|between|by) (?:(?:the|our|a|an|my) )?(?-i:[a-z])[\w-]+$"
)
HABITUAL = frozenset(
    "always usually never only mostly generally normally typically mainly often rarely seldom exclusively".split()
)
HEDGED = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|apparently|supposedly|hopefully|i (?:think|guess|suppose|believe|reckon|"
    r"assume|hope)|might|could|would|kind of|sort of|as if|as though|no idea|not sure|wish|again|just now|(?:keeps?|"
    r"kept) "
    r"\w+ing|seems?|looks? like|before$)\b",
    re.IGNORECASE,
)
QUALITY = re.compile(
    r"(?:also |all |both |strictly |the )*(?:allergic|intolerant|vegan|vegetarian|organic|left-handed|"
    r"colou?r-?blind|responsible|in charge|based|[a-z]+-free|[a-z]+less|[a-z]+-(?:only|based|intolerant|certified|"
    r"proof)|"
    r"self-[a-z]+|part-time|full-time|remote|bilingual|dyslexic|diabetic|c[oe]eliac|[a-z]+ (?:accessible|compatible|"
    r"friendly|certified)|pregnant|deaf|blind|asthmatic|"
    r"lactose|married|divorced|freelance|retired|(?:scared|terrified|afraid) of|pescatarian|teetotal|jewish|muslim|"
    r"hindu|sikh|halal|kosher|fluent|"
    r"(?:closed|open)(?= (?:on|from|at|to|every|until)\b)|in (?:a )?wheelchairs?)\b",
    re.IGNORECASE,
)
"""What stays with somebody or something."""

MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|"
    r"fall|winter|christmas|easter)"
)
DATE = (
    rf"(?:the day after tomorrow|tomorrow|(?:next|this|this coming) (?:week|month|year|quarter|term|{MONTH}|\w+day)|"
    rf"(?:\w+day,? )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|\d{{1,2}}(?:st|nd|rd|th)|(?:early |late )?{MONTH}(?: "
    r"\d{1,2}(?:st|nd|rd|th)?)?|in (?:\w+ ){1,2}(?:days?|weeks?|months?)|\w+day)"
)
DATED = re.compile(rf"\b{DATE}\b|\b(?:from now on|from \w+ on|\d{{4}})\b", re.IGNORECASE)
IS_ON = re.compile(
    rf"(?:out |up |due |set for |planned for )*(?:on |in |at |from )?(?:the (?:end|start) of )?(?:the )?{DATE}\b",
    re.IGNORECASE,
)
DEADLINE = re.compile(
    rf"\b(?:by|before|until) (?:the (?:end|start|beginning|middle) of )?(?:the )?{DATE}\b", re.IGNORECASE
)
WHERE = re.compile(
    r"(?:place |out |back |up |down )?(?:in|at|on|from|with|by|through|via|under|for|to|as|out of|off|over|between|"
    r"behind|near|after) ",
    re.IGNORECASE,
)
WITH = re.compile(r"(?:with|by|via|through) (?:[\w-]+ ){0,2}[\w-]+(?=$|,)")
SINCE = re.compile(r"\b(?:since|for (?:\w+ )?(?:years|months|ages|decades|a while))\b", re.IGNORECASE)
SETTLED = re.compile(
    r"\b(?:made up (?:my|our|their) minds?|mind is made up|decided|decision|settled|agreed|official|voted|after all)\b",
    re.IGNORECASE,
)
IS_SETTLED = re.compile(
    r"[\s,–-]*(?:and )?(?:that|it) (?:is|was) (?:settled|decided|final|official|agreed)\b", re.IGNORECASE
)
PROJECTS = frozenset(
    """
    learn study build renovate plan train use run move retire marry open close launch hire switch migrate prepare raise
    restore convert phase leave expect rent go stick become start stop sell buy quit take get do
    """.split()
)
PHASES = frozenset("keep go start stop begin end finish".split())
PRACTICES = frozenset(re.findall(r"[a-z]+", HABIT)) - frozenset("back drop get heat make play print take work".split())
ABLE = frozenset(
    """
    eat drink have take work travel fly drive do tolerate use wear park host deliver accept offer digest swim ride lift
    hear walk climb read ship sell serve cover
    """.split()
)
SKILLS = frozenset("swim drive cook sing cycle ride ski dance climb read drink fly knit sew walk see hear".split())
PURSUITS = frozenset("train study learn renovate build retire move expect raise relocate".split())
EACH_TIME = re.compile(r"\b(?:time|when|moment)$", re.IGNORECASE)
DECIDING = frozenset("decide agree vote choose opt settle elect appoint approve".split())
BODY = re.compile(
    rf"\b(?:{GROUP}|trustees|members|parents|owners|partners|directors|residents|teachers)$", re.IGNORECASE
)
FAMILY = re.compile(
    r"(?:(?:my|our) )?(?:mum|mom|dad|mother|father|wife|husband|hubby|partner|son|daughter|kids?|child|children|baby|"
    r"gran|grandma|grandpa|grandmother|grandfather|parents|twins)",
    re.IGNORECASE,
)
ROLE = re.compile(
    rf"(?:{'|'.join(sorted(ROLES))}|look after|take (?:care of|over)) (?:the|all|our|my) (?!.*ly$)", re.IGNORECASE
)
OURS = re.compile(
    r"\b(?:our|my|us|me|here|on this (?:farm|site)|in this (?:house|office|family)|of them)\b", re.IGNORECASE
)
NUMBER = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)"
AMOUNT = re.compile(rf"{NUMBER} ?(?:g|kg|ml|l|grams?|cups?|spoons?|minutes?|hours?|times)\b", re.IGNORECASE)


def is_event(rest: str) -> bool:
    """Whether the noun that a phrase is about stands for what does not last."""
    return EVENT.search(head_of(rest)) is not None


def head_of(phrase: str) -> str:
    """A noun phrase without what follows its noun."""
    return re.split(
        r"[,;:]| (?:for|in|on|with|at|about|of|to|from|that|which|and|by|like|since)\b", phrase, maxsplit=1
    )[0].strip()


def is_definite(rest: str) -> bool:
    return re.match(r"(?:the|this|that|these|those|it|them|any)\b", rest, re.IGNORECASE) is not None


def is_at_hand(rest: str) -> bool:
    """Whether one does something to a single thing that is at hand, without saying where, with what or how often."""
    return is_definite(rest) and not (
        is_timed(rest) or is_name(rest) or re.search(r" (?:in|with|at|by|from|for) ", rest)
    )


def is_timed(rest: str) -> bool:
    return re.search(rf"\b{TIME}\b|\bper \w+|\b\d{{1,2}}(?::\d\d| ?am| ?pm)?\b", rest, re.IGNORECASE) is not None


def is_appointed(one: Statement) -> bool:
    """``The inspection is next Friday``, ``my visa runs out in May``."""
    is_date = IS_ON.match(one.rest) is not None
    return one.who in ("own", "definite") and is_date and one.verb in ("be", "run", "expire", "end", "start", "begin")
