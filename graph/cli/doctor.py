"""The command that looks whether everything is in order: doctor. It changes nothing, and loads the agent last."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from checkpoints.errors import CheckpointError
from erp_mcp.errors import ErpError
from graph.books import broken_invariants, open_ledger, verify_records
from graph.cli import screen
from graph.cli.failures import Exit, plainly
from graph.cli.options import AsJson
from graph.errors import CountersignError
from graph.rights import open_policy
from graph.settings import Settings, load_settings

MAX_SHOWN: Final = 20
"""Problems of one check on the screen; ``--json`` has them all."""


@dataclass(frozen=True)
class Problem:
    """What is wrong, and how to mend it."""

    message: str
    hint: str


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: how it is where it is well, or its problems."""

    name: str
    found: str
    problems: tuple[Problem, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The form that ``--json`` prints."""
        problems = [vars(problem) for problem in self.problems]
        return {"name": self.name, "ok": not problems, "found": self.found, "problems": problems}


@plainly
def doctor(as_json: AsJson = False) -> int:
    """Check settings, databases, key and model, and whether the books add up; say how to mend what is wrong."""
    checks = list(examine())
    is_well = not any(check.problems for check in checks)
    if as_json:
        screen.say_json({"ok": is_well, "checks": [check.as_json() for check in checks]})
    else:
        for check in checks:
            _show(check)
    return Exit.DONE if is_well else Exit.FAILED


def examine() -> Iterator[Check]:
    """Every check, each standing on the ones before; without settings there is nothing to look at."""
    try:
        settings = load_settings()
    except CountersignError as error:
        yield Check("settings", "", (Problem(error.message, error.hint),))
        return
    yield Check("settings", f"home {settings.home}, time zone {settings.timezone}")
    for name, look in CHECKS.items():
        try:
            found = look(settings)
        except (CountersignError, ErpError, CheckpointError) as error:
            yield Check(name, "", (Problem(error.message, error.hint),))
        else:
            yield Check(name, *found)


Found = tuple[str, tuple[Problem, ...]]


def _home(settings: Settings) -> Found:
    if not settings.home.is_dir():
        return "", (Problem(f"The folder {settings.home} is not there.", "Make it with: countersign init"),)
    if settings.home.stat().st_mode & 0o022:
        return "", (Problem(f"Others can write in {settings.home}.", f"Run: chmod 700 {settings.home}"),)
    return "this user's alone to write", ()


def _key(settings: Settings) -> Found:
    path = settings.key_path
    if not path.is_file():
        return "", (Problem(f"There is no signing key {path}.", "Make it with: countersign init"),)
    from erp_mcp.grants import load_or_create_key

    try:
        load_or_create_key(path)
    except OSError as error:
        return "", (Problem(f"The signing key {path} cannot be read: {error.strerror}.", "Run this as its owner."),)
    return f"{path}, readable by this user alone", ()


def _books(settings: Settings) -> Found:
    broken = broken_invariants(settings)
    hint = "The database was changed by something else: restore a backup, and compare the rows named."
    return "on hand, reservations and totals add up", tuple(Problem(sentence, hint) for sentence in broken)


def _approvals(settings: Settings) -> Found:
    with open_ledger(settings) as ledger:
        # Where others of its message still wait for a person, a decision waits with them: that is in order.
        is_paused = ledger.is_paused()
        left = [thread for thread in ledger.unsettled_threads() if not ledger.of_thread(thread, "pending")]
    if is_paused:
        return "signing is paused; it goes on with: countersign resume-all", ()
    said = "There is an approval without an outcome in thread"
    return "every decision has its outcome", tuple(
        Problem(f"{said} {thread}.", "Carry it out, or learn what became of it, with: countersign recover")
        for thread in left
    )


def _agreement(settings: Settings) -> Found:
    hint = "One of the two records was changed: compare both with a backup; countersign audit shows what they say."
    return "the ledger and the ERP's operations agree", tuple(Problem(p, hint) for p in verify_records(settings))


def _policy(settings: Settings) -> Found:
    open_policy(settings.policy)
    return str(settings.policy or "none: any named person may approve"), ()


def _model(settings: Settings) -> Found:
    if settings.model == "planner" or os.environ.get("OPENAI_API_KEY"):
        return settings.model, ()
    message = f"COUNTERSIGN_MODEL is {settings.model}, but OPENAI_API_KEY is not set."
    hint = "Set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), or COUNTERSIGN_MODEL=planner."
    return "", (Problem(message, hint),)


def _servers(settings: Settings) -> Found:
    if not settings.mcp_servers.strip():
        return "none configured", ()
    from graph.cli.servers import look, with_servers  # loads the agent, which nothing else here needs

    found = with_servers(settings, look)
    problems = [
        Problem(f"{one['server']} does not answer: {one['problem']}", "Start it, or correct COUNTERSIGN_MCP_SERVERS.")
        for one in found
        if not one["up"]
    ]
    hint = "Look at the difference, and accept it with: countersign servers accept NAME --by YOUR-NAME"
    problems += [
        Problem(tool["withheld"], hint) for one in found for tool in one["tools"] if tool["withheld"] and one["up"]
    ]
    return f"{len(found)} answer, and their tools are as accepted", tuple(problems)


CHECKS: Final[dict[str, Callable[[Settings], Found]]] = {
    "home": _home,
    "signing key": _key,
    "ERP": _books,
    "approvals": _approvals,
    "records": _agreement,
    "policy": _policy,
    "model": _model,
    "MCP servers": _servers,
}


def _show(check: Check) -> None:
    if not check.problems:
        screen.say(f"ok     {check.name}: {check.found}")
        return
    screen.say(f"wrong  {check.name}:", style="bold red")
    hint = ""
    for problem in check.problems[:MAX_SHOWN]:
        if hint and problem.hint != hint:
            screen.say(f"       → {hint}")
        screen.say(f"       {problem.message}")
        hint = problem.hint
    if len(check.problems) > MAX_SHOWN:
        screen.say(f"       … and {len(check.problems) - MAX_SHOWN} more; --json has them all.")
    screen.say(f"       → {hint}")
