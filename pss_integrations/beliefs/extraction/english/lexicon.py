"""Classes of English words by which the general reading of a clause tells what kind of statement it is."""

from __future__ import annotations

import re

_VERBS = """
    abandon abolish accept adapt add adjust adopt advertise agree aim allow announce answer appear apply appoint
    archive arrange arrive ask assemble assign attend automate avoid back bake ban base batch become begin believe
    belong bill block board book borrow bottle break brew bring build burn buy calculate call cancel care carry catch
    cater celebrate certify chair change charge check choose clean climb close coach code collect combine come commute
    complain connect consist contain convert cook copy cost count cover create cultivate cut cycle dance date deal
    decide deliver depend deploy design dig discuss discontinue distribute divide do document donate draw dress drink
    drive drop dry dye earn eat edit educate elect email employ end engrave enter escalate exclude exist expand expect
    expire export face fall farm feed ferment file fill film finance find finish fire fish fit fix flow fly follow
    forage forbid forward freeze garden gather get give glaze go graduate graze greet grind grow guide handle hang
    happen harvest haul have head hear heat help hike hire hold host house import include inform inspect install insure
    invest invite invoice involve issue join judge keep knit know label last launch lead learn lease leave lend let
    license lie lift like limit listen live load lock log look lose love maintain make manage map mark market marry
    measure meet memorise mend mention merge migrate milk mill mix moderate monitor mount move name need number offer
    open operate order organise organize outsource own pack package paint park pass pause pay perform permit phase
    phone photograph pick plan plant play plough post postpone pour practise practice pray prefer prepare prescribe
    press preserve print process produce programme progress promise promote prune publish pull purchase push put race
    raise reach read rear rebuild receive recommend record recruit recycle refer refund register rehearse relate
    release relocate rely remain remove rename renew renovate rent repair repeat replace report represent require
    rescue research reserve resign restore restrict retire return review revise ride ring roast rotate row run sail
    save schedule seat see sell send separate serve set settle sew share ship shoot shop show sign sing sit size sleep
    slow smell smoke solder sort sound source sow speak specialise specialize spend split sponsor stand standardise
    standardize start state stay stock stop store stream study subscribe suit supervise supply support survey swap swim
    switch sync take talk target taste teach tell test throw trade train transcribe transfer translate transport travel
    treat trigger tune turn type update upgrade use vary visit volunteer vote wait walk want warm wash watch water wear
    weave weigh weld welcome win withdraw work write format cite quote highlight summarise summarize spell round skip
    draft explain remind respond reply tag address list bold be convert describe try seem think feel enjoy struggle
    remember forget understand mean hope worry phrase stick capitalise capitalize indent translate title trim warn
"""
_PAST_FORMS = """
    bear/bore become/became begin/began/begun bend/bent bind/bound bite/bit bleed/bled blow/blew break/broke
    bring/brought build/built burn/burnt buy/bought catch/caught choose/chose/chosen come/came creep/crept deal/dealt
    dig/dug do/did/done draw/drew/drawn dream/dreamt drink/drank/drunk drive/driven/drove eat/ate/eaten fall/fell
    feed/fed feel/felt fight/fought find/found fly/flew/flown forget/forgot forgive/forgave freeze/froze/frozen get/got
    give/gave/given go/gone/went grind/ground grow/grew/grown hang/hung hear/heard hide/hid hold/held keep/kept
    kneel/knelt know/knew/known lay/laid lead/led leap/leapt learn/learnt leave/left lend/lent light/lit lose/lost
    make/made mean/meant meet/met mistake/mistook pay/paid ride/rode/ridden ring/rang rise/rose run/ran say/said
    see/saw/seen seek/sought sell/sold send/sent sew/sewn shake/shook shine/shone shoot/shot show/shown shrink/shrank
    sing/sang/sung sink/sank sit/sat sleep/slept slide/slid speak/spoke/spoken spell/spelt spend/spent spill/spilt
    spin/spun stand/stood steal/stole stick/stuck sting/stung strike/struck swear/swore sweep/swept swim/swum/swam
    swing/swung take/taken/took teach/taught tear/torn tell/told think/thought throw/thrown/threw understand/understood
    wake/woke wear/wore/worn weave/woven win/won wind/wound withdraw/withdrew/withdrawn write/written/wrote
"""
_IRREGULAR = {past: base for base, *pasts in (forms.split("/") for forms in _PAST_FORMS.split()) for past in pasts}
_UNCHANGED = frozenset("become come cost cut hit hurt let put quit read run set shut spread split".split())
_FINITE = {
    **dict.fromkeys(("is", "are", "am", "was", "were", "been"), "be"),
    **dict.fromkeys(("has", "have", "had"), "have"),
    **dict.fromkeys(("does", "do", "did"), "do"),
}
MODALS = frozenset("will would can cannot could should must might may shall".split())
AUXILIARIES = frozenset({*_FINITE, *MODALS, "being"})
ADVERBS = frozenset(
    """
    also all always already both currently even ever far finally generally just mainly mostly never no-longer normally
    not now often only once primarily rarely really seldom simply sometimes still then too typically usually both
    rather mainly exclusively largely nearly almost entirely quite recently eventually nowadays officially actually
    strictly hardly
    """.split()
)


def lemma(word: str) -> str:
    """The plain form of a verb; ``""`` if a word is no known form of one."""
    word = word.lower()
    if word in _FINITE or word in _IRREGULAR:
        return _FINITE.get(word) or _IRREGULAR[word]
    return next((base for base in (word, *_stems(word)) if base in VERBS), "")


def _stems(word: str) -> list[str]:
    found: list[str] = []
    if word.endswith("s") and not word.endswith("ss"):
        found += [word[:-1], word[:-2], f"{word[:-3]}y"]
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            found += [stem, f"{stem}e", re.sub(r"(.)\1$", r"\1", stem), f"{stem[:-1]}y"]
    return found


def is_past(word: str) -> bool:
    """Whether a word is a past form or participle of a verb."""
    word = word.lower()
    return word in _IRREGULAR or word in _UNCHANGED or (word.endswith("ed") and bool(lemma(word)))


def is_plural(noun: str) -> bool:
    """Whether a noun stands for several."""
    return (
        re.search(r"(?:[^su']s|ses|zes|xes|people|children|staff|guys|folks|men|women|kids)$", noun.lower()) is not None
    )


CHANGES = frozenset(
    """
    adopt appoint ban become begin book buy cancel choose close decide discontinue drop elect expand get hire introduce
    join launch lease leave marry migrate move name open opt outsource pick promote purchase quit relocate rename renew
    rent replace reserve resign retire scrap sell settle sign standardise standardize start stop subscribe swap switch
    trade upgrade vote withdraw ditch abandon axe phase abolish dissolve
    """.split()
)
"""What one does once, and what holds from then on."""

FLEETING = frozenset(
    """
    add admit apologise ask attach check click come complain confirm copy delete do end enter fail get give go google
    happen hit install laugh let lose mention paste pop promise put recommend restart say scroll set show sit sound
    stand start stop suggest swear take tell thank try turn type update upload wait worry struggle
    """.split()
)
"""What one does at the moment: a habit only with a time or a place, or where one does not do it."""

MENTAL = frozenset(
    """
    agree appreciate believe bet care doubt enjoy feel figure find forget guess have hope imagine know love like hate
    dislike mean miss owe promise realise reckon remember require seem suppose think understand want wish wonder see
    hear expect need confirm mind notice seem look show appear say
    """.split()
)
"""What one feels or thinks, and what a thing seems: no habit."""

ENDS = frozenset("abolish scrap discontinue dissolve cancel drop stop quit ditch abandon axe".split())
"""What one does to something that is no more after it."""

ROLES = frozenset(
    "handle run manage lead chair do teach coach cover own organise organize supervise maintain keep host".split()
)
"""What one does for others as one's part."""

NORMS = frozenset("allow permit forbid ban welcome admit".split())

FAULTS = frozenset(
    "break crash drop fail flicker freeze hang jam leak lose miss skip squeak stall stick stop turn".split()
)
"""What a thing does that is not as it should be."""

BINDING = frozenset(
    """
    call connect export fetch import pull query read report send share sync trigger write belong close consist contain
    cost cover depend exclude expire face feed fit follow handle hold include insure last lead live manage meet open
    own require run seat serve sit sponsor stand start supply support end publish deliver specialise specialize stock
    teach host
    """.split()
)
"""What tells how things are or belong together."""

LINKS = frozenset("attach connect couple hook link tie wire".split())
"""How one thing hangs on another."""

VERBS = frozenset(_VERBS.split()) | CHANGES | FLEETING | MENTAL | FAULTS | BINDING | ROLES | NORMS | LINKS | ENDS
"""Verbs that are told from nouns after a noun; after "we" any word is one."""
