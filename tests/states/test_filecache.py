"""What is kept of files, and for how long."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pss_integrations.states.filecache import FileCache

OLD = 1_000_000_000


def put(path: Path, text: str, *, at: int = OLD) -> str:
    path.write_text(text)
    os.utime(path, (at, at))
    return str(path)


def text_of(path: str) -> str:
    return Path(path).read_text()


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    cache = FileCache[str](10)
    name = put(tmp_path / "a", "one")
    assert [cache.get(name, text_of) for _ in range(3)] == ["one"] * 3
    assert cache.reads == 1
    put(tmp_path / "a", "two", at=OLD + 1)  # of the same size
    assert (cache.get(name, text_of), cache.reads) == ("two", 2)
    put(tmp_path / "b", "one", at=OLD + 1)
    (tmp_path / "b").replace(name)  # of the same size and time
    assert (cache.get(name, text_of), cache.reads) == ("one", 3)


def test_what_was_written_a_moment_ago_is_not_kept(tmp_path: Path) -> None:
    cache = FileCache[str](10)
    (tmp_path / "a").write_text("one")
    assert cache.get(str(tmp_path / "a"), text_of) == "one"
    (tmp_path / "a").write_text("two")  # within the same tick, for all that is known
    assert cache.get(str(tmp_path / "a"), text_of) == "two"
    assert len(cache) == 0


@pytest.mark.parametrize("leave", [Path.unlink, lambda path: path.rename(path.parent / "b")], ids=["unlink", "rename"])
def test_what_was_kept_of_a_file_goes_with_it(tmp_path: Path, leave: Callable[[Path], object]) -> None:
    cache = FileCache[str](10)
    name = put(tmp_path / "a", "one")
    cache.get(name, text_of)
    leave(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        cache.get(name, text_of)
    assert len(cache) == 0


def test_an_error_is_not_kept(tmp_path: Path) -> None:
    cache = FileCache[int](10)
    name = put(tmp_path / "a", "x")
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            cache.get(name, lambda path: int(text_of(path)))
    assert (cache.reads, len(cache)) == (2, 0)


def test_a_directory_is_forgotten_with_all_below_it_and_nothing_beside_it(tmp_path: Path) -> None:
    cache = FileCache[str](10)
    for name in ("a/one", "a/b/two", "ab/three"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        cache.get(put(tmp_path / name, name), text_of)
    cache.forget(str(tmp_path / "a"))
    assert len(cache) == 1
    assert cache.get(str(tmp_path / "ab" / "three"), text_of) == "ab/three"
    assert cache.reads == 3


@example([(0, 5), (1, 5), (0, 5), (2, 5)])
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=20))
def test_it_holds_no_more_than_it_may_and_what_was_asked_for_last(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[int, int]]
) -> None:
    folder, most = tmp_path_factory.mktemp("cache"), 10
    cache, kept = FileCache[str](most, weigh=lambda size: size), dict[str, int]()  # the latest comes last
    sizes = dict[str, int]()
    for at, (number, size) in enumerate(wanted):
        name = str(folder / str(number))
        if sizes.get(name) != size:
            put(folder / str(number), "x" * size, at=OLD + at)
        assert cache.get(name, text_of) == "x" * size
        sizes[name] = size
        kept.pop(name, None)
        if size <= most:
            kept[name] = size
        while sum(kept.values()) > most:
            del kept[next(iter(kept))]
    reads = cache.reads
    for name in kept:
        cache.get(name, text_of)
    assert (cache.reads, len(cache)) == (reads, len(kept))
