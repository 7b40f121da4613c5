"""A server of ours as a real process on a free port of this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STARTING_SECONDS: Final = 90.0
STOPPING_SECONDS: Final = 30.0


@dataclass
class Server:
    """A server that runs.

    Args:
        url: its address, without a slash at the end.
        process: it.
        is_stopping: whether it was told to stop.
    """

    url: str
    process: subprocess.Popen[bytes]
    is_stopping: bool = False

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Tells it to stop, once: a second signal may meet it when it no longer listens to signals."""
        if not self.is_stopping:
            self.is_stopping = True
            self.process.send_signal(number)


@contextmanager
def serving(
    command: Sequence[str], environment: Mapping[str, str], log: Path, *, ends: Collection[int] = (0,)
) -> Iterator[Server]:
    """Runs a command until the block ends, then stops it with SIGTERM.

    Args:
        command: a module for ``python -m``, or one of our scripts, and its arguments; ``--port`` is added.
        environment: beside the process's own.
        log: a file for what it prints.
        ends: exit codes with which it may end; a signal's number is negative.
    """
    port = free_port()
    script = Path(sys.executable).with_name(command[0])
    program = [str(script)] if script.exists() else [sys.executable, "-m", command[0]]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*program, *command[1:], "--port", str(port)],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        _wait_for(port, process, log)
        server = Server(f"http://127.0.0.1:{port}", process)
        yield server
        server.stop()
        code = process.wait(STOPPING_SECONDS)
        assert code in ends, f"it ended with {code}:\n{log.read_text()}"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on just now."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, f"it ended with {process.returncode}:\n{log.read_text()}"
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"it does not listen on {port} after {STARTING_SECONDS:.0f} s:\n{log.read_text()}")
