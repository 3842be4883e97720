"""Chats about one guest house each, and an index of what all of them offer."""

from itertools import product

from pss_integrations.types import Message, Passage, SessionKey

_FIRST = "Amber Birch Cedar Dover Ember Fennel Garnet Hazel Indigo Juniper".split()
_SECOND = "Lodge Court Manor House Gables Villa Grange Terrace Cottage Haven".split()
NAMES = [f"{first} {second}" for first, second in product(_FIRST, _SECOND)]
_OFFERS = {
    "parking": "Cars can be left in the yard, parking is free for guests",
    "breakfast": "Breakfast is served from seven in the winter garden",
    "pets": "Pets sleep in the annexe, and a dog costs extra",
    "pool": "The heated pool opens at noon for swimming",
}
PASSAGES = [Passage(f"{name}/{offer}", text, name) for name in NAMES for offer, text in _OFFERS.items()]


def chat(name: str) -> list[Message]:
    return [
        Message("user", f"I am looking at {name} for the weekend."),
        Message("assistant", "A fine choice. What would you like to know?"),
        Message("user", "is parking free there?"),
        Message("assistant", "It is."),
        Message("user", "and when is breakfast served?"),
        Message("assistant", "From seven."),
        Message("user", "does the pool open before noon?"),
    ]


def chats(count: int) -> list[tuple[SessionKey, list[Message]]]:
    return [(SessionKey("ada", name), chat(name)) for name in NAMES[:count]]
