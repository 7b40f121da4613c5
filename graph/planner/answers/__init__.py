"""Answers in words. Public surface: ``describe`` a call's result, and the ``help_text`` for what was not understood."""

from graph.planner.answers.describe import describe
from graph.planner.answers.help import help_text

__all__ = ["describe", "help_text"]
