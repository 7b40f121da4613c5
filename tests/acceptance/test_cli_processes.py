"""The command line in processes of its own: laziness, exit codes, kills, locks, pipes and interrupts."""

import ctypes
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

COMMAND = str(Path(sys.executable).with_name("countersign"))
HEAVY = ("langgraph", "langchain", "langchain_core", "langchain_openai", "fastmcp", "mcp", "alembic", "pandas")
Ended = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``countersign init`` makes."""
    home = tmp_path_factory.mktemp("made") / "home"
    made = run(home, "init")
    assert made.returncode == 0, made.stderr
    return home


@pytest.fixture
def home(made_home: Path, tmp_path: Path) -> Path:
    """A copy of it, the test's own."""
    shutil.copytree(made_home, tmp_path / "home")
    return tmp_path / "home"


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a command."""
    return {**os.environ, "COUNTERSIGN_HOME": str(home), "COLUMNS": "80", **more}


def run(home: Path, *words: str, prepare: Callable[[], None] | None = None) -> Ended:
    """One command, to its end. None may show a traceback."""
    done = subprocess.run(
        [COMMAND, *words], env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        check=False, preexec_fn=prepare,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def start(home: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    """One command, which the test ends."""
    return subprocess.Popen(
        [COMMAND, *words], env=environment(home, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ask_to_cancel(home: Path) -> str:
    """The id of an approval that waits: order 11074 has one line of 14 NW-016."""
    done = run(home, "ask", "Cancel order 11074, ordered by mistake", "--as", "nancy", "--json")
    assert done.returncode == 3, done.stderr
    return str(json.loads(done.stdout)["pending"][0]["approval_id"])


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    """What the ERP's database holds."""
    with closing(sqlite3.connect(home / "erp.db")) as connection:
        return connection.execute(query).fetchall()


ORDER = "SO19980506-11074"
STATE = f"SELECT status, version FROM orders WHERE id = '{ORDER}'"
STOCK = "SELECT on_hand_milli, reserved_milli FROM stock WHERE sku = 'NW-016'"
MOVES = f"SELECT reserved_delta_milli FROM stock_moves WHERE order_id = '{ORDER}' AND reserved_delta_milli < 0"
OPERATIONS = "SELECT approval_id, approver, requested_by FROM operations"


# -- laziness ----------------------------------------------------------------------------------------------------------

LOOK = """
import sys
from graph.cli import main
code = main(sys.argv[1:])
heavy = sorted(name for name in sys.modules if name in {heavy!r})
sys.stderr.write(f"code {{code}} heavy {{heavy}}")
"""


@pytest.mark.parametrize("words", [("--help",), ("ask", "--help"), ("pending",), ("show", "APPROVAL"), ("audit",)])
def test_looking_loads_no_framework(home: Path, words: tuple[str, ...]) -> None:
    """So that help, the inbox, one approval and the audit answer at once."""
    if "APPROVAL" in words:
        words = ("show", ask_to_cancel(home))
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(heavy=set(HEAVY)), *words], env=environment(home), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == "code 0 heavy []"


# -- a person's terminal, pipes, and interrupts ------------------------------------------------------------------------


def test_help_names_every_command_and_the_exit_codes(home: Path) -> None:
    """In the order in which a person meets them."""
    said = run(home, "--help").stdout
    names = ["init", "ask", "chat", "call", "pending", "show", "approve", "reject", "edit", "recover", "audit"]
    assert re.findall(r"^  (\w+)  +\w", said.partition("Commands:")[2], re.MULTILINE)[: len(names)] == names
    assert "3 waiting for approval" in " ".join(said.split())


@pytest.mark.parametrize(
    "words", [("frobnicate",), ("ask",), ("show",), ("pending", "--limit", "0"), ("approve", "apr_x"), ("--frob",)]
)
def test_wrong_usage_ends_with_2(home: Path, words: tuple[str, ...]) -> None:
    """And says what is wrong on stderr, nothing on stdout."""
    done = run(home, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_without_a_terminal_there_are_no_colours(home: Path) -> None:
    """What is piped into a file is text."""
    approval = ask_to_cancel(home)
    for words in (("show", approval), ("pending",), ("approve", approval, "--by", "andrew"), ("audit",)):
        assert "\x1b" not in run(home, *words).stdout


def test_a_terminal_of_80_columns_shows_everything(home: Path) -> None:
    """No line is longer than the terminal is wide, and the digest is there whole."""
    approval = ask_to_cancel(home)
    master, slave = pty.openpty()
    with subprocess.Popen([COMMAND, "show", approval], env=environment(home, TERM="xterm"), stdout=slave) as process:
        os.close(slave)
        said = b""
        try:
            while part := os.read(master, 65536):
                said += part
        except OSError:
            pass  # a terminal whose last writer has gone reads as an error
        assert process.wait(timeout=60) == 0
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;]*m", "", said.decode())
    assert max(len(line) for line in text.splitlines()) <= 80
    digest = json.loads(run(home, "show", approval, "--json").stdout)["digest"]
    assert digest in "".join(text.split())


def test_a_closed_stdin_is_an_end_and_not_a_fault(home: Path) -> None:
    """As under cron and in containers."""
    for words, code in ((("chat",), 0), (("ask", "What is in order 11074?"), 0), (("pending",), 0)):
        assert run(home, *words, prepare=lambda: os.close(0)).returncode == code


def test_a_reader_that_leaves_is_no_fault(home: Path) -> None:
    """As with ``| head``: nothing on stderr."""
    approval = ask_to_cancel(home)
    reading, writing = os.pipe()
    os.close(reading)
    for words in (("show", approval), ("show", approval, "--json"), ("ask", "What is in order 11074?")):
        done = subprocess.run(
            [COMMAND, *words], env=environment(home), stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (141, b"")
    os.close(writing)


def test_an_ascii_terminal_gets_escapes_and_no_crash(home: Path) -> None:
    """Every character of an answer can be written somehow."""
    done = subprocess.run(
        [COMMAND, "ask", "What is in order 11073?"], env=environment(home, PYTHONIOENCODING="ascii"),
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"Guaran\\xe1" in done.stdout


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A model's server that takes a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


def test_an_interrupt_ends_cleanly_and_the_thread_goes_on(home: Path, silent_server: socket.socket) -> None:
    """Ctrl-C while the model thinks: exit 130 and no traceback; ``recover`` finds nothing half done in the ERP."""
    address = f"http://127.0.0.1:{silent_server.getsockname()[1]}/v1"
    model = {"COUNTERSIGN_MODEL": "openai:some", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": address}
    with start(home, "ask", "hello", **model) as process:
        connection, _peer = silent_server.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            _out, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert run(home, "recover").returncode == 0
    assert rows(home, OPERATIONS) == []


# -- one effect, whatever happens --------------------------------------------------------------------------------------


@pytest.mark.guarantee("nothing-lost", "A13")
def test_an_approval_outlives_a_kill_and_executes_once(home: Path) -> None:
    """``ask`` is killed as soon as its approval waits; another process approves. All records agree afterwards."""
    assert rows(home, STATE) == [("confirmed", 1)]
    ((on_hand, reserved),) = rows(home, STOCK)
    with start(home, "ask", "Cancel order 11074, ordered by mistake", "--as", "nancy", "--json") as process:
        while process.poll() is None and not (waiting := _waiting(home)):
            pass
        process.kill()
    waiting = waiting or _waiting(home)
    (approval,) = waiting
    done = run(home, "approve", approval, "--by", "andrew", "--json")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "executed"), done.stderr
    again = run(home, "approve", approval, "--by", "andrew", "--json")
    assert json.loads(again.stdout)["receipts"] == json.loads(done.stdout)["receipts"]
    assert rows(home, STATE) == [("cancelled", 2)]
    assert rows(home, STOCK) == [(on_hand, reserved - 14_000)]
    assert rows(home, MOVES) == [(-14_000,)]
    assert rows(home, OPERATIONS) == [(approval, "andrew", "nancy")]
    (entry,) = json.loads(run(home, "audit", "--order", "11074", "--json").stdout)
    assert (entry["approval_id"], entry["status"], entry["decided_by"]) == (approval, "executed", "andrew")
    assert entry["receipt"]["result"] == json.loads(done.stdout)["receipts"][0]["result"]


def _waiting(home: Path) -> list[str]:
    """Read past the command line, which would take longer than the window that the test aims at."""
    with closing(sqlite3.connect(home / "checkpoints.db")) as connection:
        return [name for (name,) in connection.execute("SELECT id FROM approvals WHERE status = 'pending'")]


@pytest.mark.guarantee("A1", "once")
def test_two_processes_that_approve_at_once_make_one_effect(home: Path) -> None:
    """Both end with 0 and the same receipt; one of them is told that it was done already."""
    approval = ask_to_cancel(home)
    both = [start(home, "approve", approval, "--by", who, "--json") for who in ("andrew", "steven")]
    ended = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    answers = [json.loads(out) for out, _err in ended]
    assert sorted(answer["outcome"] for answer in answers) == ["already_executed", "executed"]
    assert answers[0]["receipts"] == answers[1]["receipts"]
    assert len(rows(home, OPERATIONS)) == 1
    assert rows(home, MOVES) == [(-14_000,)]


# -- databases that cannot be used -------------------------------------------------------------------------------------


@pytest.fixture
def lock(home: Path) -> Iterator[Callable[[str], sqlite3.Connection]]:
    """Holds a database's write lock, as another program would."""
    held: list[sqlite3.Connection] = []

    def hold(name: str) -> sqlite3.Connection:
        connection = sqlite3.connect(home / name, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        held.append(connection)
        return connection

    yield hold
    for connection in held:
        connection.close()


def test_a_locked_ledger_decides_nothing(home: Path, lock: Callable[[str], sqlite3.Connection]) -> None:
    """Looking still works; deciding says that it is locked, and works once it is not."""
    approval = ask_to_cancel(home)
    held = lock("checkpoints.db")
    assert run(home, "show", approval).returncode == 0
    done = run(home, "approve", approval, "--by", "andrew", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "checkpoints_busy"
    held.rollback()
    assert run(home, "approve", approval, "--by", "andrew").returncode == 0


@pytest.mark.guarantee("once", "nothing-lost")
def test_a_locked_erp_leaves_the_decision_to_recover(home: Path, lock: Callable[[str], sqlite3.Connection]) -> None:
    """The outcome is unknown, and said to be; ``recover`` carries it out once, and the audit has both."""
    approval = ask_to_cancel(home)
    held = lock("erp.db")
    done = run(home, "approve", approval, "--by", "andrew")
    assert done.returncode == 1
    assert "countersign recover" in done.stderr
    (entry,) = json.loads(run(home, "audit", "--json").stdout)
    assert (entry["status"], entry["receipt"]) == ("approved", None)
    held.rollback()
    (again,) = json.loads(run(home, "recover", "--json").stdout)
    assert again["receipts"][0]["approval_id"] == approval
    assert rows(home, OPERATIONS) == [(approval, "andrew", "nancy")]


def _as_anybody() -> None:
    """Takes away root's right to write what nobody may write, where the tests run as root."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.parametrize("words", [("ask", "Cancel order 11073"), ("approve", "APPROVAL", "--by", "andrew"), ("init",)])
def test_a_read_only_home_is_named_and_nothing_is_half_written(home: Path, words: tuple[str, ...]) -> None:
    """One line with the file and what to do."""
    approval = ask_to_cancel(home)
    files = [*home.iterdir(), home]
    for path in files:
        path.chmod(path.stat().st_mode & ~0o222)
    done = run(home, *(approval if word == "APPROVAL" else word for word in words), prepare=_as_anybody)
    for path in files:
        path.chmod(path.stat().st_mode | 0o200)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "hint: " in done.stderr
    assert rows(home, OPERATIONS) == []
    assert run(home, "approve", approval, "--by", "andrew").returncode == 0


BROKEN = """
import sys
import graph.cli.looking
graph.cli.looking.load_settings = None
sys.exit(graph.cli.main(sys.argv[1:]))
"""


def test_the_unforeseen_is_one_line(home: Path) -> None:
    """The exception's class, and how to see more; with COUNTERSIGN_DEBUG there is a traceback for those who ask."""
    words = [sys.executable, "-c", BROKEN, "pending"]
    quiet = subprocess.run(words, env=environment(home), capture_output=True, text=True, timeout=60, check=False)
    assert quiet.returncode == 1
    assert quiet.stderr.startswith("error: TypeError")
    assert "COUNTERSIGN_DEBUG=1" in quiet.stderr
    loud = subprocess.run(
        words, env=environment(home, COUNTERSIGN_DEBUG="1"), capture_output=True, text=True, timeout=60, check=False
    )
    assert loud.returncode == 1
    assert "Traceback" in loud.stderr
