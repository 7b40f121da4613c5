"""Answers in words. Public surface: ``describe`` a result; ``help_text`` and ``too_long`` where there is none."""

from graph.planner.answers.describe import describe
from graph.planner.answers.help import help_text, too_long

__all__ = ["describe", "help_text", "too_long"]
