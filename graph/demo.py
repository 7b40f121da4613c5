"""The main job, as ``make run`` shows it. Each step is the command that a person would type, in a process of its own:
between asking and approving everything has been restarted."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from graph.cli.screen import complain, say
from graph.settings import load_settings

ASKED_BY = "nancy"


def main() -> int:
    """Asks to cancel an open order, shows the preview, lets the person decide, and shows receipt and audit.

    Returns:
        0 where the order was cancelled or the person said no; else the failed command's exit code.
    """
    settings = load_settings()
    if not (settings.home / "erp.db").exists() and not settings.erp_url:
        _say("There is no data yet: Northwind is loaded.")
    if code := _show("init"):
        return code
    order = _open_order()
    if order is None:
        _say("Every order has been cancelled or completed. Start afresh with: rm -r var && make run")
        return 0
    _say(f"{ASKED_BY} asks the agent to cancel an order that is still open.")
    text = f"Cancel order {order}, ordered by mistake"
    asked = _read("ask", text, "--as", ASKED_BY)
    if not asked["pending"]:
        _say(asked["answer"])
        return 1
    approval = asked["pending"][0]["approval_id"]
    _say("Nothing has been changed. That process has ended; the approval waits in the ledger, for weeks if need be.")
    if code := _show("show", approval):
        return code
    verb, by = _decision()
    code = _show(verb, approval, "--by", by)
    _say("What the books say now:")
    return _show("audit", "--order", order) or code


def _decision() -> tuple[str, str]:
    if not sys.stdin.isatty():
        _say("There is no terminal to ask at, so this decides as demo: approve.")
        return "approve", "demo"
    by = os.environ.get("USER") or "demo"
    while True:
        said = input(f"\nYou decide, as {by}. Approve this? [y/n] ").strip().lower()
        if said in {"y", "yes", "n", "no"}:
            return ("approve" if said.startswith("y") else "reject"), by


def _open_order() -> str | None:
    """The open order with the fewest lines: its preview fits a screen."""
    found = _read("call", "list_orders", "--args", json.dumps({"status": "confirmed", "limit": 50}))
    items = (found.get("result") or {}).get("items", [])
    return min(items, key=lambda item: (item["line_count"], item["order_id"]))["order_id"] if items else None


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("countersign")), *arguments]


def _show(*arguments: str) -> int:
    say(f"\n$ countersign {shlex.join(arguments)}", "bold")
    return subprocess.run(_command(*arguments), check=False).returncode  # noqa: S603 - our own command line


def _read(*arguments: str) -> dict[str, Any]:
    say(f"\n$ countersign {shlex.join(arguments)}", "bold")
    done = subprocess.run(_command(*arguments, "--json"), check=False, stdout=subprocess.PIPE)  # noqa: S603
    body: dict[str, Any] = json.loads(done.stdout or b"{}")
    if "error" in body or done.returncode not in {0, 3}:
        fault = body.get("error", {})
        complain(fault.get("message", "That did not work."), fault.get("hint", ""))
        sys.exit(done.returncode or 1)
    return body


def _say(text: str) -> None:
    say(f"\n{text}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, EOFError):
        sys.exit(130)
