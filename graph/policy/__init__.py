"""Who may approve what: a TOML file of people and rules. Pure: no database, no framework."""

from graph.policy.load import parse_policy, read_policy
from graph.policy.problems import Place, PolicyError
from graph.policy.rules import BY_RULE, Person, Policy, Rule
from graph.policy.source import PolicySource
from graph.policy.subject import Day, Subject, largest_amounts
from graph.policy.terms import Ask, Terms

__all__ = [
    "BY_RULE", "Ask", "Day", "Person", "Place", "Policy", "PolicyError", "PolicySource", "Rule", "Subject", "Terms",
    "largest_amounts", "parse_policy", "read_policy",
]  # fmt: skip
