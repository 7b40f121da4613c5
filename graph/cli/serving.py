"""The command that serves other hosts and people over HTTP: serve."""

from pathlib import Path
from typing import Annotated

import typer

from graph.cli import screen
from graph.cli.failures import Exit, plainly
from graph.settings import load_settings


@plainly
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 8321,
    names: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name to be addressed by.")
    ] = None,
    origins: Annotated[
        list[str] | None, typer.Option("--allow-origin", metavar="URL", help="A web origin that may call.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Offer reads that are marked private too.")] = False,
    jwt_key: Annotated[
        Path | None, typer.Option("--jwt-key", metavar="PEM", help="Take JWTs that this public key verifies.")
    ] = None,
    jwt_issuer: Annotated[str | None, typer.Option("--jwt-issuer", metavar="ISS", help="What their iss says.")] = None,
) -> int:
    """Serve MCP at /mcp and REST under /api: other hosts ask for writes, people decide, it is done once."""
    from graph.serving import Reach, serve  # loads a web framework, which other commands do not need

    def started() -> None:
        screen.say(f"MCP at http://{host}:{port}/mcp, REST under /api, approvals at /api/approvals")

    serve(load_settings(), Reach(host, port, names or (), origins or (), jwt_key, jwt_issuer, private), started)
    return Exit.DONE
