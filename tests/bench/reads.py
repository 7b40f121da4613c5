"""Every read tool on Online Retail, beside its own statements sent by the bare driver, and again at ten times the size.

A tool's time is what the server spends on a call: arguments checked, one transaction, rows made into the typed result,
and that written as JSON. The bare driver sends the same statements in one transaction on a held connection and fetches
the rows.
"""

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.registry import Registry, load_registry
from erp_mcp.store.connect import make_engines, parse_url
from erp_mcp.store.engine import Store, open_store
from tests.bench.read_calls import READ_CALLS, ReadCall
from tests.bench.repeated import repeat
from tests.statements import Statement, sent_statements

NAME: Final = "reads"
TIMES: Final = 10
MAX_RATIO: Final = 3.0
MAX_GROWTH: Final = 1.5
MAX_SECONDS: Final = 60
MAX_MEGABYTES: Final = 500
_BUDGET_SECONDS: Final = 1.0
_ROUNDS: Final = 200


@dataclass(frozen=True)
class ReadFigure:
    """One call on one database: milliseconds of the tool and of the bare driver, and of the tool at ten times the size.

    ``larger`` is missing where growing with the tables is what the call does.
    """

    database: str
    call: ReadCall
    tool: float
    bare: float
    larger: float | None = None

    @property
    def ratio(self) -> float:
        """The tool's time divided by the bare driver's."""
        return self.tool / self.bare

    @property
    def growth(self) -> float | None:
        """The tool's time at ten times the size divided by that at the size as it is."""
        return None if self.larger is None else self.larger / self.tool

    def as_json(self) -> dict[str, Any]:
        """The form that ``--json`` prints."""
        return {
            "database": self.database, "call": self.call.name, "kind": self.call.growth, "tool_ms": self.tool,
            "bare_ms": self.bare, "ratio": self.ratio, "growth": self.growth, "kept": self.kept,
        }  # fmt: skip

    @property
    def kept(self) -> bool:
        """Whether both bounds are kept; only keyed look-ups and first pages must not grow."""
        must_not_grow = self.call.growth in ("keyed", "first page")
        return self.ratio <= MAX_RATIO and not (must_not_grow and (self.growth or 0) > MAX_GROWTH)


def load(url: str, source: Path) -> dict[str, float]:
    """Load Online Retail in a process of its own: seconds and megabytes."""
    command = [sys.executable, "-m", "tests.bench.loading", url, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(url: str, *, larger: bool) -> Iterator[ReadFigure]:
    """Measure every call on a database with Online Retail in it.

    Args:
        url: the database; with ``larger`` it is made ten times as large, for good.
        larger: measure what must not grow at that size, too.
    """
    registry = load_registry()
    name = parse_url(url).get_backend_name()
    with closing(open_store(url)) as store:
        repeat(store, 1)  # for the statistics alone
        small = [(call, *_both(store, url, registry, call)) for call in READ_CALLS]
        large: dict[str, float] = {}
        if larger:
            repeat(store, TIMES)
            rest = [call for call in READ_CALLS if call.growth != "aggregate"]
            large = {call.name: _both(store, url, registry, call)[0] for call in rest}
    for call, tool, bare in small:
        yield ReadFigure(name, call, tool, bare, large.get(call.name))


def statements(store: Store, registry: Registry, call: ReadCall) -> list[Statement]:
    """What a call sends to the database, as its driver gets it."""
    with sent_statements() as sent:
        _call(store, registry, call)
    return sent


def _call(store: Store, registry: Registry, call: ReadCall) -> str:
    tool = registry.tool(call.tool)
    arguments = tool.parse(call.arguments)
    with store.read() as tx:
        found = tool.read(tx, arguments)
    return found.model_dump_json(exclude_none=True)


def _both(store: Store, url: str, registry: Registry, call: ReadCall) -> tuple[float, float]:
    """Median milliseconds of the tool and of the bare driver, turn by turn."""
    sent = statements(store, registry, call)
    with _bare(url, sent) as bare:
        _call(store, registry, call)
        bare()
        turns: list[tuple[float, float]] = []
        until = time.perf_counter() + _BUDGET_SECONDS
        while len(turns) < 3 or (len(turns) < _ROUNDS and time.perf_counter() < until):
            turns.append((_milliseconds(lambda: _call(store, registry, call)), _milliseconds(bare)))
    return median(tool for tool, _ in turns), median(other for _, other in turns)


def _milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


@contextmanager
def _bare(url: str, sent: list[Statement]) -> Iterator[Callable[[], None]]:
    """The statements on a connection of the driver's own, which is held."""
    engines = make_engines(parse_url(url))
    raw = engines[0].raw_connection()
    driver: Any = raw.driver_connection
    try:

        def run() -> None:
            cursor = driver.cursor()
            if engines[0].dialect.name == "sqlite":
                cursor.execute("BEGIN")  # psycopg begins by itself
            for statement, parameters in sent:
                cursor.execute(statement, parameters)
                cursor.fetchall()
            driver.commit()

        yield run
    finally:
        raw.close()
        for engine in engines:
            engine.dispose()


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """A PostgreSQL database that is gone afterwards.

    Args:
        server: the URL of any database on it.
    """
    name = f"countersign_bench_{secrets.token_hex(4)}"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    try:
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
