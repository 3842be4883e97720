from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from pss_integrations.beliefs.extraction import resolve_date
from pss_integrations.errors import InvalidInput

WEDNESDAY = datetime(2023, 5, 24, 15, 30, tzinfo=UTC)


def days(phrase: str, at: datetime = WEDNESDAY) -> tuple[date, date]:
    first, last = resolve_date(phrase, at)
    return first.date(), last.date()


@pytest.mark.parametrize(
    ("phrase", "first", "last"),
    [
        ("last week", (2023, 5, 15), (2023, 5, 21)),
        ("since last week", (2023, 5, 15), (2023, 5, 21)),
        ("two weeks ago", (2023, 5, 8), (2023, 5, 14)),
        ("this week", (2023, 5, 22), (2023, 5, 28)),
        ("last weekend", (2023, 5, 20), (2023, 5, 21)),
        ("last month", (2023, 4, 1), (2023, 4, 30)),
        ("a month ago", (2023, 4, 1), (2023, 4, 30)),
        ("last quarter", (2023, 1, 1), (2023, 3, 31)),
        ("last year", (2022, 1, 1), (2022, 12, 31)),
        ("Q1 of 2024", (2024, 1, 1), (2024, 3, 31)),
        ("in March", (2023, 3, 1), (2023, 3, 31)),
        ("in May", (2023, 5, 1), (2023, 5, 31)),
        ("in December", (2022, 12, 1), (2022, 12, 31)),
        ("next December", (2023, 12, 1), (2023, 12, 31)),
        ("Feb 2024", (2024, 2, 1), (2024, 2, 29)),
        ("2019", (2019, 1, 1), (2019, 12, 31)),
    ],
)
def test_a_span_is_whole(phrase, first, last):
    assert days(phrase) == (date(*first), date(*last))


@pytest.mark.parametrize(
    ("phrase", "day"),
    [
        ("yesterday", (2023, 5, 23)),
        ("the day before yesterday", (2023, 5, 22)),
        ("today", (2023, 5, 24)),
        ("3 days ago", (2023, 5, 21)),
        ("last Wednesday", (2023, 5, 17)),
        ("on Friday", (2023, 5, 19)),
        ("next Friday", (2023, 5, 26)),
        ("3 May", (2023, 5, 3)),
        ("May 3rd", (2023, 5, 3)),
        ("on the 30th of June", (2022, 6, 30)),
        ("June 30, 2024", (2024, 6, 30)),
        ("2024-02-29", (2024, 2, 29)),
    ],
)
def test_a_day_is_one_day(phrase, day):
    assert days(phrase) == (date(*day), date(*day))


def test_an_interval_is_closed_and_in_the_zone_of_the_speaker():
    at = datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    first, last = resolve_date("yesterday", at)
    assert first == datetime(2023, 12, 31, tzinfo=at.tzinfo)
    assert last == datetime(2024, 1, 1, tzinfo=at.tzinfo) - timedelta(microseconds=1)


@pytest.mark.parametrize("phrase", ["garbage", "", "soon", "31 February", "2024-13-01", "999 years ago ago", "week"])
def test_what_names_no_date_is_an_error(phrase):
    with pytest.raises(InvalidInput, match="date"):
        resolve_date(phrase, WEDNESDAY)


def test_a_time_without_zone_is_an_error():
    with pytest.raises(InvalidInput, match="zone"):
        resolve_date("yesterday", datetime(2023, 5, 24))


def test_a_date_before_all_years_is_an_error():
    with pytest.raises(InvalidInput, match="no date"):
        resolve_date("999 years ago", datetime(600, 1, 1, tzinfo=UTC))
