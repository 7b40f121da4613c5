"""The tool that adds up sales."""

from erp_mcp.queries.page import DEFAULT_LIMIT
from erp_mcp.queries.sales import SalesSummary, sales
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Day, GroupBy, Limit


def sales_summary(
    tx: Tx, group_by: GroupBy, date_from: Day | None = None, date_to: Day | None = None, limit: Limit = DEFAULT_LIMIT
) -> SalesSummary:
    """Valid orders added up by group and currency."""
    return sales(tx, group_by, date_from, date_to, limit)
