"""``python -m tests.bench.loading URL FILE``: load Online Retail in a process of its own, and print what that took."""

import json
import resource
import sys
import time
from contextlib import closing
from pathlib import Path

from erp_mcp.importers.online_retail import load_online_retail
from erp_mcp.store.engine import create_database, open_store

KILOBYTES_PER_MEGABYTE = 1024


def main(url: str, source: str) -> None:
    """Seconds, and the peak of this process's memory in megabytes (``ru_maxrss`` is in kilobytes on Linux)."""
    create_database(url)
    with closing(open_store(url)) as store:
        started = time.perf_counter()
        report = load_online_retail(store, Path(source))
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES_PER_MEGABYTE
    print(json.dumps({"seconds": seconds, "megabytes": peak, "order_lines": report.taken["order_lines"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
