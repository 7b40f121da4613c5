"""What somebody would write in ten lines: a query in a plain function on a FastMCP server. The baseline for reads.

``python -m tests.bench.bare_server URL --port N`` serves it over HTTP.
"""

import argparse
from contextlib import closing
from typing import Any

from fastmcp import FastMCP

from erp_mcp.queries.order_models import OrderDetail
from erp_mcp.queries.orders import order_detail
from erp_mcp.store.engine import Store, open_store


def bare_server(store: Store, *, typed: bool) -> FastMCP[Any]:
    """A server with one tool.

    Args:
        store: the ERP's database, read as we read it.
        typed: publish what the answer looks like, as we do; both ends then check each answer against it, which costs
            more than the query. Without it the answer is JSON that nobody checks.
    """
    server: FastMCP[Any] = FastMCP("bare")

    def typed_order(order_id: str) -> OrderDetail:
        """One order."""
        with store.read() as tx:
            return order_detail(tx, order_id)

    def any_order(order_id: str) -> dict[str, Any]:
        """One order."""
        return typed_order(order_id).model_dump(mode="json", exclude_none=True)

    if typed:
        server.tool(typed_order, name="get_order")
    else:
        server.tool(any_order, name="get_order", output_schema=None)
    return server


def main(url: str, port: int) -> None:
    """Serve until the process is stopped."""
    with closing(open_store(url)) as store:
        bare_server(store, typed=False).run("http", show_banner=False, port=port, log_level="warning")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--port", type=int, required=True)
    main(**vars(parser.parse_args()))
