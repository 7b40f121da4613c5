"""The command line, ``countersign``. Its commands that only look load neither LangGraph nor FastMCP."""

from graph.cli.entry import main

__all__ = ["main"]
