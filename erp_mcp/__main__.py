"""``python -m erp_mcp serve``: the ERP's MCP server alone, over stdio or HTTP."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from erp_mcp.errors import ErpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: of the command; the process's own if left out.

    Returns:
        The exit code: 0 done, 1 it could not start (2, wrong usage, is argparse's).
    """
    options = _parser().parse_args(arguments)
    try:
        _serve(options)
    except ErpError as error:
        return _say(f"{error.message} {error.hint}")
    except KeyboardInterrupt:
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m erp_mcp", description="The ERP's MCP server.")
    serve = parser.add_subparsers(dest="command", required=True).add_parser(
        "serve", help="serve over stdio, or over HTTP with --http; read tools only unless --writes"
    )
    serve.add_argument("--db", metavar="URL", help="database; COUNTERSIGN_ERP_URL, or erp.db in COUNTERSIGN_HOME")
    serve.add_argument("--http", action="store_true", help="serve Streamable HTTP at /mcp instead of stdio")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    serve.add_argument("--port", type=int, default=8321, help="port to listen on (default %(default)s)")
    serve.add_argument("--writes", action="store_true", help="offer write tools; each call still needs a signed grant")
    serve.add_argument("--public-key", type=Path, metavar="PEM", help="check grants with this Ed25519 public key")
    return parser


def _serve(options: argparse.Namespace) -> None:
    # Imported here, so that --help and a wrong option answer at once.
    from erp_mcp.app import build_erp
    from erp_mcp.server import serve_http, serve_stdio
    from erp_mcp.skill import SkillError

    home = Path(os.environ.get("COUNTERSIGN_HOME") or "./var")
    url = options.db or os.environ.get("COUNTERSIGN_ERP_URL") or f"sqlite:///{home / 'erp.db'}"
    try:
        erp = build_erp(
            url,
            key_path=home / "approval.key",
            public_key_path=options.public_key,
            zone=_zone(os.environ.get("COUNTERSIGN_TIMEZONE") or "UTC"),
            writes=options.writes,
        )
    except SkillError as error:
        raise ErpError("skill_invalid", f"{error}.", "Mend the file, or take its folder away.") from error
    try:
        if options.http:
            serve_http(erp.server, options.host, options.port)
        else:
            serve_stdio(erp.server)
    finally:
        erp.close()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ErpError(
            "setting_invalid", f"There is no time zone {name!r}.", "Use a name such as Europe/Berlin."
        ) from error


def _say(line: str) -> int:
    sys.stderr.write(line + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
