from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs.extraction import SidecarStripper, strip_sidecar

START, END = "<<<SIDECAR_JSON>>>", "<<<END_SIDECAR>>>"
pieces = st.sampled_from(
    [START, END, START[:7], START[3:], END[:-1], "<", "<<", ">>>", "text", "\n", '{"a": [1]}', "é"]
)
texts = st.lists(pieces | st.text(max_size=5), max_size=12).map("".join)


@st.composite
def streams(draw: st.DrawFn) -> list[str]:
    """A text in chunks, some of which may be empty."""
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(streams())
def test_chunks_do_not_matter(chunks: list[str]):
    stripper = SidecarStripper()
    shown = "".join(map(stripper.feed, chunks)) + stripper.finish()
    assert shown == strip_sidecar("".join(chunks))


@given(texts)
def test_one_character_at_a_time_is_no_different(text: str):
    stripper = SidecarStripper()
    assert "".join(map(stripper.feed, text)) + stripper.finish() == strip_sidecar(text)


@given(st.text(max_size=30), st.text(max_size=30), streams())
def test_nothing_of_a_block_is_ever_shown(before: str, after: str, chunks: list[str]):
    secret = "§".join(chunks).replace(END, "")
    text = f"{before.replace('§', '')}{START}§{secret}§{END}{after.replace('§', '')}"
    assert "§" not in strip_sidecar(text)
