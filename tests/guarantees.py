"""What always holds, as data. A test claims one with ``@pytest.mark.guarantee("once")``; ``test_guarantees.py`` checks
both ways: no guarantee without a test, no claim without a guarantee.

A guarantee is due from a release on. The package's version says which release this is, so raising the version makes the
next guarantees due; until then one without a test is shown as a skip, never passed over in silence.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Guarantee:
    """One promise.

    Args:
        name: what a test's marker says.
        holds: what is always true, in one sentence.
        since: the release (major, minor) from which a test must claim it.
    """

    name: str
    holds: str
    since: tuple[int, int]


CORE: Final = (0, 1)
"""The main job, end to end."""
ERP: Final = (0, 2)
"""The whole ERP."""
APPROVALS: Final = (0, 3)
"""Approvals that nothing can break."""
MCP: Final = (0, 4)
"""MCP, both ways."""

INVARIANTS: Final = (
    Guarantee(
        "signed-only", "No write reaches the ERP without a person's recorded approval; the ERP enforces it.", CORE
    ),
    Guarantee("what-you-saw", "What executes is what the approver saw: tool, arguments, money, target versions.", CORE),
    Guarantee("once", "One tool call has at most one effect, through crashes, races, forks and repeats.", CORE),
    Guarantee(
        "stale-asks-again", "If a target moved, nothing executes; a fresh preview with the difference waits.", CORE
    ),
    Guarantee("edit-asks-again", "An edit makes a new preview that is asked again; it cannot switch tools.", CORE),
    Guarantee("nothing-lost", "Approvals, decisions and receipts survive restarts; no thread can be bricked.", CORE),
    Guarantee("never-silent", "Resuming answers with a typed outcome, never a silent no-op.", CORE),
    Guarantee("first-decision-wins", "Of two who decide at once one wins; the other is told who, what and when.", CORE),
    Guarantee("accountable", "Every effect has who asked, who approved and how surely, what they saw, and when.", CORE),
    Guarantee("shown-whole", "What cannot be shown completely cannot be approved.", APPROVALS),
)

APPROVAL_CASES: Final = (
    Guarantee("A1", "Two processes that approve one order at once make one order, and both get its receipt.", CORE),
    Guarantee("A2", "A kill between the ERP's commit and the checkpoint leaves one effect with one number.", CORE),
    Guarantee("A3", "Malformed answers are refused with a reason and stay pending; the good one then works.", CORE),
    Guarantee("A4", "Old checkpoints, goto and forged state lead to no second and no unapproved effect.", CORE),
    Guarantee("A5", "A resume sent again together with its checkpoint has no second effect.", CORE),
    Guarantee("A6", "A new message while an approval waits is refused or supersedes it, as asked.", CORE),
    Guarantee("A7", "A decision for another, an unknown or a finished thread says which of these it is.", CORE),
    Guarantee("A8", "A rejected call never runs, and an edit that names another tool is refused.", CORE),
    Guarantee("A9", "When the policy changes under a pending approval, the stricter of the two holds.", APPROVALS),
    Guarantee("A10", "In a message of reads and writes every call gets one answer, and only the approved run.", CORE),
    Guarantee("A11", "Arguments changed between interrupt and execution are refused: not what was seen.", CORE),
    Guarantee("A12", "1, 1.0 and '1' are one quantity with one digest.", APPROVALS),
    Guarantee("A13", "A new process lists and answers what an older one left pending; it executes once.", CORE),
    Guarantee("A14", "An approval that outlived a rename is answerable or shown as an orphan, never gone.", APPROVALS),
    Guarantee("A15", "A price, credit or stock that changes under an approval makes it stale.", APPROVALS),
    Guarantee("A16", "A create_order that the model repeats inside one approval makes one order.", APPROVALS),
    Guarantee("A17", "Forged, expired, re-targeted, re-signed and self-made grants are refused.", APPROVALS),
    Guarantee("A18", "Sync, async and notebook callers share one database file from four processes.", APPROVALS),
    Guarantee("A19", "A payload holds JSON only, and its digest is the same after a reload.", APPROVALS),
)

APPROVER_CASES: Final = (
    Guarantee("B1", "GET and HEAD decide nothing, on any address.", APPROVALS),
    Guarantee("B2", "An expired approval has no decider, and the model hears that nobody answered.", APPROVALS),
    Guarantee("B3", "A revoked approver is forbidden and blocks nobody else.", APPROVALS),
    Guarantee("B4", "Four eyes need two people: at the start and at every entrance.", APPROVALS),
    Guarantee("B5", "Long and disguised text is shown whole or cannot be approved, with the reason.", APPROVALS),
    Guarantee("B6", "A late click on what was decided elsewhere gets a typed outcome.", APPROVALS),
    Guarantee("B7", "The second of two identical orders asks again and names the first.", APPROVALS),
)

ERP_CASES: Final = (
    Guarantee("E1", "A shipped order cannot be cancelled, and nothing changes.", CORE),
    Guarantee("E2", "Cancelling twice releases the stock once.", CORE),
    Guarantee("E3", "Of two orders for the last unit one is short of stock.", CORE),
    Guarantee("E4", "Two stock adjustments at once both count, or one asks again.", ERP),
    Guarantee("E5", "An order with one short line leaves the other lines' stock untouched.", CORE),
    Guarantee("E6", "Quantities that are no quantities are invalid_argument, by name.", CORE),
    Guarantee("E7", "Price tiers are inclusive, and the deepest wins.", ERP),
    Guarantee("E8", "Discounts are rounded half up, to the cent.", ERP),
    Guarantee("E9", "A cancelled order is not spent money and is shown apart.", ERP),
    Guarantee("E10", "An unknown filter value is an error with the allowed values, not all rows.", ERP),
    Guarantee("E11", "A list over any number of rows is one bounded page with total and cursor.", ERP),
    Guarantee("E12", "A name that fits two customers is ambiguous, with the candidates.", ERP),
    Guarantee("E13", "Look-ups keep leading zeros and forgive width, case and space.", ERP),
    Guarantee("E14", "SKUs that differ only by case all load, and each is found.", ERP),
    Guarantee("E15", "Read, change, read shows the new value and version.", ERP),
    Guarantee("E16", "Money is a plain decimal string that every client parses.", ERP),
    Guarantee("E17", "tools/list holds only what strict clients accept.", ERP),
    Guarantee("E18", "Every tool's output, through a real client, fits its own schema.", ERP),
)

DOOR_CASES: Final = (
    Guarantee("D1", "A token gets the tools and fields that are its own, over MCP and REST alike.", MCP),
    Guarantee("D2", "A token bound to a customer learns nothing of another's, by answers, totals or errors.", MCP),
    Guarantee("D3", "A revoked token stops at once, in open sessions too.", MCP),
    Guarantee("D4", "A server that is told to stop finishes what is under way.", MCP),
    Guarantee("D5", "A page of another site cannot call, whatever name it gives this machine.", MCP),
)

GUARANTEES: Final = {
    guarantee.name: guarantee for guarantee in (*INVARIANTS, *APPROVAL_CASES, *APPROVER_CASES, *ERP_CASES, *DOOR_CASES)
}
