"""The book of accepted definitions, on both databases: first use, changes, names for good, and two agents at once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoints.database import database_url, migrate
from checkpoints.definitions import FIRST_USE, MAX_NAME, DefinitionBook

RESERVED = frozenset({"get_order"})


def offer(*names: str, version: int = 1) -> dict[str, tuple[str, dict[str, Any]]]:
    """What a server offers: a hash and a definition per name."""
    return {name: (f"{name[:9]}-{version}", {"name": name, "version": version}) for name in names}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A checkpoint database."""
    where = str(tmp_path / "c.db") if request.param == "sqlite" else str(request.getfixturevalue("pg_url"))
    migrate(database_url(where))
    return where


@pytest.fixture
def book(url: str) -> Iterator[DefinitionBook]:
    """The book in it."""
    opened = DefinitionBook(database_url(url))
    yield opened
    opened.close()


def test_first_use_is_trusted_and_later_ones_wait(book: DefinitionBook) -> None:
    """A server's first list is accepted as such; what changes or comes later is seen, not accepted."""
    first = book.see("a", offer("one", "two"), RESERVED)
    assert {tool.accepted_by for tool in first.values()} == {FIRST_USE}
    later = book.see("a", offer("two", version=2) | offer("three"), RESERVED)
    assert (later["two"].accepted_hash, later["two"].seen_hash) == ("two-1", "two-2")
    assert (later["three"].accepted, later["three"].seen_hash) == (None, "three-1")
    assert later["one"].seen_hash == "one-1"
    book.accept("a", {"two": "two-2"}, "andrew")
    known = book.known("a")
    assert (known["two"].accepted_hash, known["two"].accepted_by) == ("two-2", "andrew")
    assert known["three"].accepted is None


def test_only_what_was_seen_is_accepted(book: DefinitionBook) -> None:
    """The person saw one definition; if the server has moved on since, that one is not accepted."""
    book.see("a", offer("one"), ())
    book.see("a", offer("one", version=2), ())
    book.see("a", offer("one", version=3), ())
    book.accept("a", {"one": "one-2"}, "andrew")
    known = book.known("a")["one"]
    assert (known.accepted_hash, known.seen_hash) == ("one-2", "one-3")
    book.see("a", offer("one", version=2), ())
    assert book.known("a")["one"].seen_hash == "one-2"


def test_names_are_given_once(book: DefinitionBook) -> None:
    """Taken names get the server's before them, odd characters go, and a name never changes its tool."""
    long = "x" * 100
    first = book.see("a", offer("get_order", "find", "a.b c", long, long + "y"), RESERVED)
    aliases = {name: tool.alias for name, tool in first.items()}
    assert (aliases["get_order"], aliases["find"], aliases["a.b c"]) == ("a__get_order", "find", "a_b_c")
    assert len(set(aliases.values())) == len(aliases)
    assert max(map(len, aliases.values())) <= MAX_NAME
    assert book.see("b", offer("find"), RESERVED)["find"].alias == "b__find"
    again = book.see("a", offer("find", version=2), RESERVED | {"find"})
    assert again["find"].alias == "find"


def test_two_agents_that_see_a_server_first_at_once(url: str) -> None:
    """One of them is first; both have the same names and the same accepted definitions."""
    books = [DefinitionBook(database_url(url)) for _ in range(2)]
    barrier = threading.Barrier(2)

    def see(book: DefinitionBook) -> Any:
        barrier.wait(30)
        return book.see("a", offer("one", "two", "get_order"), RESERVED)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(see, books)
    for book in books:
        book.close()
    assert one == other
    assert {tool.accepted_by for tool in one.values()} == {FIRST_USE}
