"""``python -m erp_mcp``: the ERP's server alone, over stdio or HTTP, and the tokens for it."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from erp_mcp.errors import ErpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: of the command; the process's own if left out.

    Returns:
        The exit code: 0 done, 1 it could not be done (2, wrong usage, is argparse's).
    """
    options = _parser().parse_args(arguments)
    # Imported here, so that --help and a wrong option answer at once.
    from erp_mcp import commands

    try:
        commands.RUN[options.command](options)
    except ErpError as error:
        return _say(f"{error.message} {error.hint}")
    except KeyboardInterrupt:
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m erp_mcp", description="The ERP's server, and the tokens for it.")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_serve(commands.add_parser("serve", help="serve MCP over stdio, or MCP and REST over HTTP with --http"))
    tokens = commands.add_parser("token", help="make, list and revoke tokens for HTTP")
    actions = tokens.add_subparsers(dest="action", required=True)
    new = actions.add_parser("new", help="make a token and print it, once")
    new.add_argument("name", help="whose it is; the records name them so")
    new.add_argument(
        "--scope", action="append", required=True, metavar="SCOPE", help="what it may do, repeated; '*' is everything"
    )
    new.add_argument("--customer", metavar="ID", help="show it this customer's orders and no others")
    new.add_argument("--days", type=_days, metavar="N", help="days until it ends; until revoked if left out")
    revoke = actions.add_parser("revoke", help="end a token at once")
    revoke.add_argument("name", help="whose it is")
    for action in (new, revoke, actions.add_parser("list", help="list tokens, never the tokens themselves")):
        _add_tokens(action)
        action.add_argument("--db", metavar="URL", help=DATABASE_HELP)
    return parser


DATABASE_HELP = "database; COUNTERSIGN_ERP_URL, or erp.db in COUNTERSIGN_HOME"


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--db", metavar="URL", help=DATABASE_HELP)
    serve.add_argument("--private", action="store_true", help="offer reads that are marked private too")
    serve.add_argument("--writes", action="store_true", help="offer write tools; each call still needs a signed grant")
    serve.add_argument("--public-key", type=Path, metavar="PEM", help="check grants with this Ed25519 public key")
    serve.add_argument("--http", action="store_true", help="serve HTTP: MCP at /mcp, REST under /api; needs tokens")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    serve.add_argument("--port", type=int, default=8321, help="port to listen on (default %(default)s)")
    serve.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name to be addressed by")
    serve.add_argument("--allow-origin", action="append", default=[], metavar="URL", help="a web origin that may call")
    serve.add_argument("--open", action="store_true", help="on loopback: public reads without a token")
    serve.add_argument("--jwt-key", type=Path, metavar="PEM", help="take JWTs that this public key verifies")
    serve.add_argument("--jwt-issuer", metavar="ISS", help="what their iss must say")
    _add_tokens(serve)


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    home = Path(os.environ.get("COUNTERSIGN_HOME") or "./var")
    parser.add_argument(
        "--tokens", type=Path, metavar="FILE", default=home / "tokens.json", help="file of tokens (default %(default)s)"
    )


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= 3650:
        raise argparse.ArgumentTypeError("must be 1 to 3650")
    return days


def _say(line: str) -> int:
    sys.stderr.write(line + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
