"""Parts of regular expressions that several rules share, and what they leave out."""

from __future__ import annotations

import re

GROUP = (
    r"(?:\w+ )?(?:team|teams|company|firm|shop|store|lab|group|office|department|school|clinic|practice|kitchen|"
    r"bakery|studio|crew|squad|family|organi[sz]ation|club|choir|agency|startup|unit|household|class|guild|band|"
    r"orchestra|board|committee|vineyard|farm|brewery|winery|restaurant|caf[eé]|hotel|hostel|museum|library|archive|"
    r"theat(?:re|er)|parish|church|society|association|charity|nursery|kennels?|garage|workshop|co-op|salon|gym|"
    r"hospital|ward|pharmacy|surgery|newsroom|magazine|gallery|dairy|orchard|faculty|institute|university|college|"
    r"council|union|collective|troupe|ensemble|quartet|bookshop|developers)"
)
"""Who the speaker may be with others."""

_STAFF = (
    r"(?:(?!other|rival|opposing|away|old|former|previous|visiting)\w+ )?(?:staff|volunteers|tutors|drivers|trainers|"
    r"coaches|nurses|cooks|editors|technicians|apprentices|interns)"
)
_EVERYONE = (
    rf"every(?:one|body) (?:here|(?:in|at|on) (?:the|our) (?:\w+ )?{GROUP})|every(?:one|body)(?=[^,;:]* (?:now|"
    rf"here)\b)|(?:the|our) (?:whole|entire) {GROUP}|"
    r"(?:people|guests|customers|members|students|parents|patients|volunteers)(?=[^,;:]* now\b)"
)
WE = (
    rf"\b(?P<who>we|i|(?:our|my) {GROUP}|the (?:team|company|committee|board|crew|family)|(?:the|our) {_STAFF}|"
    rf"{_EVERYONE}|the (?:choir|club|band|lab|practice|clinic|orchestra|guild|vineyard|brewery|farm|nursery|kennel|"
    rf"parish|"
    r"society|museum|theatre|school)(?! (?:across|next|opposite|down|behind|around|where|that|which|who|of|in)\b)|all "
    r"of us|the (?:two|three|four|rest) of us) "
)
"""Whoever speaks, alone or with others."""

ADVERBS = (
    r"(?:(?:also|now|currently|already|still|just|only|really|actually|always|usually|mostly|generally|normally|mainly|"
    r"all|both|personally|definitely|strongly|much|far|have|has|had|finally|recently|officially|eventually|basically|"
    r"simply|exclusively|primarily|internally|typically|then|kind of|quite|absolutely|truly|as a team|today|yesterday|"
    r"in the end|rather|tend to|have to|in fact|meanwhile|since|very much|jointly|unanimously|together|long ago) )*"
)
NOT = rf"(?:(?P<neg>do not|does not|never) {ADVERBS})?"
"""A negation that may stand before a verb."""

_NO_NOUN = (
    r"(?!(?:is|are|was|were|has|have|had|we|i|you|he|she|it|they|that|which|who|whether|if|to|not|or|but|do|does|did|"
    r"said|says|asked|told|wrote|thinks|because|so)\b)"
)
NOUNS = rf"{_NO_NOUN}[\w.+#/&'-]+(?: {_NO_NOUN}[\w.+#/&'-]+){{0,5}}?"
"""Up to six words, none of them a pronoun or a form of "to be"."""

OPENING = r"(?:^|[,:] |\b(?:and|but|so) (?:that )?)"
"""Where a clause may begin."""

START = (
    r"(?:^(?:(?:and|but|so|also|ok|okay|yes|yeah|no|hey|hi|well|oh|then|fyi|note|reminder|great|good|thanks|sorry|cool|"
    r"right|fine|alright|sure|perfect|hello|btw|one more thing|important)\b[,:.!]? )*|[,:] (?:and |but |so |also )?|"
    r"\b(?:but|so|please|then) |[-–—] )(?:also |please )*"
)
"""Where an imperative may begin."""

TIME = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|noon|midnight|(?:every|each) (?:other |"
    r"second )?\w+|daily|weekly|monthly|quarterly|yearly|once an? \w+|twice an? \w+|"
    r"(?:at|until|till|by) (?:half past |(?:a )?quarter (?:past|to) )?(?:one|two|three|four|five|six|seven|eight|"
    r"nine|ten|"
    r"eleven|twelve)\b(?! \w+s\b))"
)
_LASTING_PLACE = (
    r"(?:project|service|code ?base|repo|repository|app|product|site|team|company|club|house|household|shop|lab|"
    r"kitchen|office|school|family|studio|garden)\b"
)
PASSING = re.compile(
    r"(?<!\bfrom )(?<!\bas of )(?<!\bstarting )(?<!\bsince )\b(?:today|tomorrow|tonight|right now|this (?:week|"
    r"weekend|morning|afternoon|evening|time|month)|for now|"
    r"next (?:week|month|time)|at the moment|just this once|for once|(?:in|for) (?:this|the following|the next) "
    rf"(?!{_LASTING_PLACE})\w+)\b",
    re.IGNORECASE,
)
"""What does not last, and need not be known later."""

FAILURE = re.compile(
    r"\b(?:errors?|fail\w*|nothing happens|(?:does|do|will|is|are) not (?:work|boot|start|compile|working)|crash\w*|"
    r"broke|exception|no effect|reinstall\w*|(?:and|but|then) (?:(?:i|we|it|that|this|they) )?(?:keeps? |always |now |"
    r"only |just )*(?:gets?|got|getting|sees?|returns?|throws?|complains?|says|shows|hangs))\b",
    re.IGNORECASE,
)
"""What one tells who describes a fault: the steps before it are no habits."""

HABIT = r"get(?= (?:our|my)\b)|" + "|".join(
    """
    accept allow archive back bake bill book brew build buy charge clean close code collect cook count deliver deploy
    design develop do document drink drive eat edit export feed ferment file grow handle heat host invoice issue keep
    label log maintain make manage measure meet monitor offer open order organise organize own pack park pay plan plant
    play post practise practice prescribe press print process produce publish record release rent repair report require
    review ride roast sell send serve share ship shoot speak split stock store support sync take teach test track train
    travel version wash work write
    """.split()
)
"""What one does again and again; other verbs tell rather what happened, or what one thinks."""

_OTHERS = re.compile(
    r"\b(?:article|author|book|page|paper|post|tutorial|example|docs|documentation|snippet|e-?mail|message|logs?|text|"
    r"video|film|customers?|clients?|competitors?|vendor|others?|guys?|man|woman|person|people|internet|error|output|"
    r"question|answer|problem|following|readme|world|default|sun|weather|demo|slide|talk|novel|song|movie|show|series|"
    r"game|their|his|her|your|function|file|method|variable|command|script|button|field|column|row|folder|directory|"
    r"parameter|argument|loop|exception|request|response|kernel|language|word|sentence|term|company that|he|she|they|"
    r"you|who|hero|heroine|character|protagonist|villain|previous|former|old|next door|across|"
    r"opposite|upstairs|downstairs)\b",
    re.IGNORECASE,
)
_PERSONS = (
    r"colleague|coworker|friend|neighbou?r|wife|husband|sister|brother|mother|father|mum|mom|dad|son|daughter|cousin|"
    r"aunt|uncle|boyfriend|girlfriend|partner|flatmate|roommate|kid|kids|boss|landlord|teacher|nephew|niece|grandma|"
    r"grandpa|grandmother|grandfather|ex|classmate|competitor|client|customer|tenant|student|pupil|patient|guest"
)
_MATTERS = (
    r"problem|issue|question|idea|guess|concern|worry|error|bug|impression|experience|understanding|hope|advice|"
    r"thought|opinion|feeling|fear|apolog\w+|mistake|hunch|suspicion|theory|assumption|memory|fault|intention|attempt|"
    r"request|flight|train|appointment|exam|interview|heart|mind|soul|favou?rite|preferred|usual|hero|character"
)
_ALONE = (
    r"day|weekend|bad|turn|head|brain|first|last|next|best|point|example|answer|reading|try|meeting|bus|call|trip|"
    r"essay|draft|script|query|output|(?:source )?code"
)
_MANKINDS = r"sun|moon|galaxy|planet|solar system|universe|world|species|ancestors|bod(?:y|ies)|brains?|cells|genes"
_NO_SUBJECT = re.compile(
    rf"(?:[\w-]+ )?(?:{_MANKINDS})|(?!{GROUP}'s)(?:[\w-]+ )*\w+'s .+|(?:[\w-]+ )*(?:{_PERSONS})s' .+|(?:[\w'-]+ "
    rf")*(?:{_PERSONS}|{_MATTERS})s?(?: (?:of|about|for|with|from|here|is)\b.*)?|(?:{_ALONE})|(?:first|last|next) .+",
    re.IGNORECASE,
)


_PROFESSIONS = (
    r"dentist|doctor|vet|lawyer|accountant|therapist|coach|trainer|plumber|barber|hairdresser|manager|supervisor|"
    r"professor|supplier"
)
_PERSON = re.compile(rf"(?:[\w-]+ )*(?:{_PERSONS}|{_PROFESSIONS})s?", re.IGNORECASE)


def is_person(subject: str) -> bool:
    """Whether a noun phrase stands for another person, whose habits are not the user's."""
    return _PERSON.fullmatch(subject) is not None


def is_own(subject: str) -> bool:
    """Whether a noun phrase after "the" may stand for something of the user: no person, text or piece of code."""
    return not (_OTHERS.search(subject) or _NO_SUBJECT.fullmatch(subject))


def is_lasting(subject: str) -> bool:
    """Whether a noun phrase after "our" or "my" stands for something that is worth knowing, and for no other person."""
    return not _NO_SUBJECT.fullmatch(subject)
