"""The policy as it is now: the file is read again when it has changed, so that a revoked right ends at once."""

from pathlib import Path

from graph.policy.load import read_policy
from graph.policy.rules import Policy

_Stamp = tuple[int, int, int]


class PolicySource:
    """Where the policy comes from.

    Args:
        path: a TOML file; None for no policy, where any named person may sign.

    Raises:
        PolicyError: the file cannot be used; it is read at once, so that a start stops.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._stamp: _Stamp | None = None
        self._policy = Policy()
        self.current()

    @classmethod
    def fixed(cls, policy: Policy) -> "PolicySource":
        """A policy that is not in a file."""
        source = cls()
        source._policy = policy
        return source

    def current(self) -> Policy:
        """The policy as of now.

        Raises:
            PolicyError: the file was changed into one that cannot be used. The policy from before does not count any
                more: it may name people whose right was just taken away.
        """
        if self._path is None:
            return self._policy
        stamp = _stamp(self._path)
        if stamp is None or stamp != self._stamp:
            self._stamp = None
            self._policy = read_policy(self._path)
            self._stamp = stamp
        return self._policy


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
