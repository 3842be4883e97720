import re

from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs.extraction import SidecarStripper, strip_sidecar
from pss_integrations.beliefs.extraction.sidecar import sidecar_blocks

START, END = "<<<SIDECAR_JSON>>>", "<<<END_SIDECAR>>>"
MARKERS = [START, f"{START}{{", f"{START.lower()}\n", END, END.lower(), START[:7], START[3:], END[:-1]]
pieces = st.sampled_from([*MARKERS, "<", "<<", ">>>", "```", "json", " ", "\n", "{", '{"a": [1]}', "text", "é"])
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
    secret = re.sub(END, ".", "§".join(chunks), flags=re.IGNORECASE)
    text = f"{before.replace('§', '')}{START}{{§{secret}§{END}{after.replace('§', '')}"
    assert "§" not in strip_sidecar(text)


@given(texts)
def test_just_where_something_is_taken_out_a_block_is_read(text: str):
    ended = text + "."  # no beginning of a block
    assert (strip_sidecar(ended) != ended) == bool(sidecar_blocks(ended))
