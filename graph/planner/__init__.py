"""The embedded planner: a chat model with no key and no network. Public surface: ``PlannerModel``."""

from graph.planner.model import PlannerModel

__all__ = ["PlannerModel"]
