"""When "last week" was, seen from the time at which it was said."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta

from pss_integrations.errors import InvalidInput
from pss_integrations.text import normalise

_DAYS = [name.lower() for name in calendar.day_name]
_MONTHS = [name.lower() for name in calendar.month_name]
_NUMBERS = {
    **{word: number for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)},
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "couple of": 2,
}

_DAY = "|".join(f"{name}|{name[:3]}" for name in _DAYS)
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS if name) + "|sept"
_COUNT = rf"\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}"
_WHICH = r"(?P<which>last|past|previous|this|current|next)"


def resolve_date(phrase: str, at: datetime) -> tuple[datetime, datetime]:
    """Return what a phrase like "last week" or "3 May" means, said at some time.

    A phrase means whole days, in the zone of ``at``: a week runs from Monday to Sunday, "two weeks ago" is the whole
    week, "last Friday" and a bare "Friday" the latest one before ``at``, a bare "March" the latest March that has
    begun.

    :param phrase: English; upper and lower case are the same, and a leading "since", "in", "on" or "from" is ignored.
    :param at: When it was said, with its zone; never the present.
    :returns: The first and the last moment of the closed interval.
    :raises InvalidInput: If the phrase names no date, or ``at`` has no zone.
    """
    if at.tzinfo is None:
        raise InvalidInput("a date can only be resolved from a time with its zone")
    text = _LEAD.sub("", normalise(phrase)).rstrip(" .,!?")
    for pattern, read in _READERS:
        if found := pattern.fullmatch(text):
            try:
                first, last = read(found, at.date())
                return (
                    datetime.combine(first, time.min, tzinfo=at.tzinfo),
                    datetime.combine(last, time.max, tzinfo=at.tzinfo),
                )
            except (ValueError, OverflowError) as error:  # 31 February, 999 years ago
                raise InvalidInput(f"{phrase!r} is no date: {error}") from error
    raise InvalidInput(f"{phrase!r} names no date: write e.g. 'yesterday', 'last week', '3 May 2024' or '2024-05-03'")


_Days = tuple[date, date]
_LEAD = re.compile(r"(?:(?:since|in|on|from|as of|starting|during) )+(?:the (?=\d))?|the (?=\d)")


def _near(found: re.Match[str], today: date) -> _Days:
    shift = {"the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1}
    day = today + timedelta(days={**shift, "tomorrow": 1}.get(found[0], 0))
    return day, day


def _ago(found: re.Match[str], today: date) -> _Days:
    count = int(found["count"]) if found["count"].isdecimal() else _NUMBERS[found["count"]]
    return _span(found["span"], today, -count)


def _relative(found: re.Match[str], today: date) -> _Days:
    return _span(found["span"], today, _shift(found))


def _span(span: str, today: date, shift: int) -> _Days:
    """The day, week, month, quarter or year so many after that of ``today``."""
    if span == "day":
        return (day := today + timedelta(days=shift)), day
    if span == "week":
        monday = today + timedelta(days=-today.weekday(), weeks=shift)
        return monday, monday + timedelta(days=6)
    months = {"month": 1, "quarter": 3, "year": 12}[span]
    return _months(today.year * 12 + (today.month - 1) // months * months + shift * months, months)


def _months(index: int, count: int = 1) -> _Days:
    """So many months; ``index`` counts months from the year 0."""
    year, month = divmod(index, 12)
    end_year, end_month = divmod(index + count, 12)
    return date(year, month + 1, 1), date(end_year, end_month + 1, 1) - timedelta(days=1)


def _weekend(found: re.Match[str], today: date) -> _Days:
    monday, sunday = _span("week", today, _shift(found))
    return monday + timedelta(days=5), sunday


def _weekday(found: re.Match[str], today: date) -> _Days:
    """The latest such day before today; with "next" the first one after, with "this" that of the week."""
    number = next(number for number, name in enumerate(_DAYS) if name.startswith(found["day"]))
    which = found["which"]
    if which in ("this", "current"):
        day = today + timedelta(days=number - today.weekday())
    elif which == "next":
        day = today + timedelta(days=(number - today.weekday() - 1) % 7 + 1)
    else:
        day = today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    return day, day


def _month(found: re.Match[str], today: date) -> _Days:
    """A month of a given year; without one, the latest that has begun."""
    month = _month_number(found["month"])
    which = found["which"]
    if found["year"]:
        year = int(found["year"])
    elif which == "next":
        year = today.year + (month <= today.month)
    elif which in ("last", "past", "previous"):
        year = today.year - (month >= today.month)
    else:
        year = today.year - (month > today.month)
    return _months(year * 12 + month - 1)


def _calendar_day(found: re.Match[str], today: date) -> _Days:
    """A day of a given year; without one, the latest that has come."""
    month, day = _month_number(found["month"]), int(found["day"])
    if found["year"]:
        when = date(int(found["year"]), month, day)
    else:
        when = date(today.year - ((month, day) > (today.month, today.day)), month, day)
    return when, when


def _iso(found: re.Match[str], _today: date) -> _Days:
    return (day := date.fromisoformat(found[0])), day


def _quarter(found: re.Match[str], _today: date) -> _Days:
    return _months(int(found["year"]) * 12 + (int(found["quarter"]) - 1) * 3, 3)


def _year(found: re.Match[str], _today: date) -> _Days:
    return _months(int(found[0]) * 12, 12)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS) if month.startswith(name[:3]))


def _shift(found: re.Match[str]) -> int:
    return {"next": 1, "this": 0, "current": 0}.get(found["which"], -1)


_NAMED_DAY = rf"(?P<day>{_DAY})"
_NAMED_MONTH = rf"(?P<month>{_MONTH})\.?"
_NUMBER = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_IN_YEAR = r"(?:,? (?P<year>\d{4}))?"
_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (
            r"(?:the )?day before yesterday|yesterday|last night|today|this (?:morning|afternoon|evening)|tomorrow",
            _near,
        ),
        (rf"(?P<count>{_COUNT}) (?P<span>day|week|month|year)s? ago", _ago),
        (rf"(?:the )?{_WHICH} (?P<span>day|week|month|quarter|year)", _relative),
        (rf"(?:the )?{_WHICH} weekend", _weekend),
        (rf"(?:{_WHICH} )?{_NAMED_DAY}", _weekday),
        (rf"(?:{_WHICH} )?{_NAMED_MONTH}{_IN_YEAR}", _month),
        (rf"{_NAMED_MONTH} {_NUMBER}{_IN_YEAR}", _calendar_day),
        (rf"{_NUMBER} (?:of )?{_NAMED_MONTH}{_IN_YEAR}", _calendar_day),
        (r"\d{4}-\d{2}-\d{2}", _iso),
        (r"q(?P<quarter>[1-4]) (?:of )?(?P<year>\d{4})", _quarter),
        (r"(?:19|20)\d{2}", _year),
    )
)
