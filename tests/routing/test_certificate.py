import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pss_integrations.errors import InvalidInput
from pss_integrations.routing import BUILT_IN, Binding, Certificate, Features
from pss_integrations.routing import features as observed
from pss_integrations.routing.certificate import NullCount, as_certificate
from pss_integrations.routing.features import FEATURES_VERSION

BINDING = Binding(index_id="mine", engine="e")
FULL = Certificate(
    weights={"support": 2.0, "overlap": -0.5},
    bias=0.25,
    threshold=0.75,
    unsupported_below=0.4,
    binding=BINDING,
    max_activation=0.05,
    confidence=0.95,
    nulls={"off_topic": NullCount(sessions=93, activated=1)},
    created_at=datetime(2026, 1, 2, tzinfo=UTC),
)

OLD = BUILT_IN.model_copy(update={"features_version": 0})


def test_a_saved_certificate_comes_back_the_same(tmp_path) -> None:
    FULL.save(tmp_path / "c.json")
    read = Certificate.load(tmp_path / "c.json")
    assert read == FULL.model_copy(update={"digest": FULL.content_digest()})
    assert (read.is_calibrated, BUILT_IN.is_calibrated) == (True, False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 0.1),
        ("weights", {"support": 9.0}),
        ("binding", {"index_id": "other", "engine": "e"}),
        ("nulls", {}),
        ("confidence", 0.99),
    ],
)
def test_an_edited_file_is_refused(tmp_path, name: str, value: object) -> None:
    path = tmp_path / "c.json"
    FULL.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(InvalidInput, match="was edited; calibrate again"):
        Certificate.load(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "pss-certificate-0"}, "pss-certificate-1"),
        ({"weights": {"length": 1.0}}, "unknown features length"),
        ({"weights": {"words": float("inf")}}, "finite"),
        ({"digest": ""}, "no digest"),
        ({"more": 1}, "Extra inputs"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, change: dict, said: str) -> None:
    path = tmp_path / "c.json"
    FULL.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=said) as caught:
        Certificate.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_a_file_that_is_no_certificate_is_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(InvalidInput, match="holds no certificate"):
        Certificate.load(tmp_path / "c.json")
    with pytest.raises(InvalidInput, match="holds no certificate"):
        Certificate.load(tmp_path)


def test_a_certificate_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        FULL.threshold = None


@pytest.mark.parametrize(
    ("certificate", "binding", "said"),
    [
        (BUILT_IN, None, None),
        (BUILT_IN, BINDING, None),
        (FULL, BINDING, None),
        (FULL, None, "no index_id"),
        (FULL, Binding(index_id="other", engine="e"), "'mine'"),
        (FULL, Binding(index_id="mine"), "engine='e'"),
        (
            BUILT_IN.model_copy(update={"features_version": 0}),
            None,
            f"version 0 of the features, this is {FEATURES_VERSION}",
        ),
    ],
)
def test_it_holds_for_one_index_one_engine_and_one_version(certificate, binding, said: str | None) -> None:
    mismatch = certificate.mismatch(binding)
    assert (mismatch is None) if said is None else said in mismatch


def test_the_score_is_the_weighed_sum() -> None:
    features = Features(words=3, scope=0, refers=0, asks=1, foreign=0, support=0.5, overlap=1)
    assert FULL.score(features) == 0.25 + 2.0 * 0.5 - 0.5
    assert Certificate(weights={}).score(features) == 0.0


@pytest.mark.parametrize(
    ("query", "activates"),
    [
        ("which port does it use?", True),
        ("the previous one", True),
        ("And Marlowe?", True),
        ("thermal budget", False),
        ("port of Marlowe and Vega", False),
    ],
)
def test_the_built_in_one_takes_what_asks_or_refers_back(query: str, activates: bool) -> None:
    assert (BUILT_IN.score(observed.of_query(query)) >= BUILT_IN.threshold) is activates


def test_what_is_given_is_a_certificate_a_file_or_nothing(tmp_path) -> None:
    FULL.save(tmp_path / "c.json")
    assert as_certificate(None) is BUILT_IN
    assert as_certificate(FULL) is FULL
    assert as_certificate(str(tmp_path / "c.json")) == as_certificate(tmp_path / "c.json")


@given(st.permutations(["support", "overlap", "gap", "words"]))
def test_the_order_of_the_weights_does_not_matter(names: list[str]) -> None:
    weights = {"support": 0.1, "overlap": 0.7, "gap": -0.3, "words": 1e-9}
    features = observed.of_query("which port does it use?")
    one, other = Certificate(weights=weights), Certificate(weights={name: weights[name] for name in names})
    assert one.score(features) == other.score(features)
    assert one.content_digest() == other.content_digest()
