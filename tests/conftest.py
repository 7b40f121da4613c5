"""What every test gets: an environment without the developer's own settings and keys, and no telemetry."""

import os

import hypothesis
import pytest

KEPT = frozenset({"COUNTERSIGN_TEST_PG_URL", "COUNTERSIGN_TEST_DATA", "COUNTERSIGN_CHAOS_ROUNDS"})
PREFIXES = ("COUNTERSIGN_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")


# A machine that is busy with other things is no failure of the code under test.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees only the settings that it makes itself, and what it starts inherits that."""
    for name in list(os.environ):
        if name.startswith(PREFIXES) and name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("LANGGRAPH_CLI_NO_ANALYTICS", "1")
    monkeypatch.setenv("LANGGRAPH_NO_VERSION_CHECK", "1")
