"""Commands about other MCP servers: list them and their tools, accept what has changed in these."""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph.cli import screen
from graph.cli.failures import Exit, plainly
from graph.cli.options import AsJson, By
from graph.errors import CountersignError
from graph.render import visible
from graph.settings import Settings, load_settings

if TYPE_CHECKING:
    from graph.servers.hub import Servers
    from graph.servers.tool import ExternalTool

app = typer.Typer(
    name="servers",
    help="Other MCP servers: what they offer, and what of it a person has accepted.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
@plainly
def list_servers(as_json: AsJson = False) -> int:
    """List the servers of COUNTERSIGN_MCP_SERVERS, whether they answer, their tools, and what waits to be accepted."""
    settings = load_settings()
    if not settings.mcp_servers.strip():
        found: list[dict[str, Any]] = []
    else:
        found = with_servers(settings, look)
    if as_json:
        screen.say_json(found)
    elif not found:
        screen.say("There are no other MCP servers. COUNTERSIGN_MCP_SERVERS names them.")
    for server in [] if as_json else found:
        _show(server)
    return Exit.DONE


@app.command()
@plainly
def accept(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The server.")], by: By, as_json: AsJson = False
) -> int:
    """Accept the tools of a server as it defines them now; the difference is shown."""
    settings = load_settings()
    if not settings.mcp_servers.strip():
        raise CountersignError(
            "unknown_server", f"There is no MCP server {name!r}.", "COUNTERSIGN_MCP_SERVERS names them."
        )

    async def accepting(servers: "Servers") -> list[dict[str, Any]]:
        return [_tool_json(tool) for tool in await servers.accept(name, by)]

    accepted = with_servers(settings, accepting)
    if as_json:
        screen.say_json({"server": name, "accepted": accepted, "by": by})
        return Exit.DONE
    for tool in accepted:
        screen.say(f"Accepted by {by}: {visible(tool['tool'])}")
        _show_lines(tool["difference"])
    if not accepted:
        screen.say(f"Nothing of {name} waits to be accepted.")
    return Exit.DONE


def with_servers(
    settings: Settings, job: "Callable[[Servers], Awaitable[list[dict[str, Any]]]]"
) -> list[dict[str, Any]]:
    """Runs an async job with the servers connected.

    Args:
        settings: they name the servers.
        job: gets the servers.

    Raises:
        CountersignError, ErpError, CheckpointError: what is missing or wrong.
    """
    from anyio.from_thread import start_blocking_portal

    from graph.app import open_services

    with (
        start_blocking_portal(name="countersign") as portal,
        portal.wrap_async_context_manager(open_services(settings)) as services,
    ):
        servers = services.bridge.servers
        return [] if servers is None else portal.call(job, servers)


async def look(servers: "Servers") -> list[dict[str, Any]]:
    """Each server with its tools, as ``list --json`` prints it."""
    return [
        {
            "server": name, "address": config.address, "trusted": config.trusted, "up": problem is None,
            "problem": problem or "", "tools": [_tool_json(tool) for tool in tools],
        }
        for name, (config, problem, tools) in servers.overview().items()
    ]  # fmt: skip


def _tool_json(tool: "ExternalTool") -> dict[str, Any]:
    withheld = tool.why_withheld
    return {
        "tool": tool.known.tool, "name": tool.known.alias, "risk": tool.risk, "offered": withheld is None,
        "withheld": "" if withheld is None else withheld.message, "accepted_by": tool.known.accepted_by or "",
        "difference": tool.moved() if tool.waits else [],
    }  # fmt: skip


def _show(server: dict[str, Any]) -> None:
    state = "up" if server["up"] else f"down: {visible(server['problem'])}"
    screen.say(f"{server['server']}  {visible(server['address'])}  {state}")
    for tool in server["tools"]:
        risk = "runs freely" if tool["risk"] == "read" else "asks a person"
        said = f"{risk}, accepted by {tool['accepted_by']}" if tool["offered"] else visible(tool["withheld"])
        screen.say(f"  {visible(tool['name'])}: {said}")
        _show_lines(tool["difference"])
    if any(tool["difference"] for tool in server["tools"]):
        screen.say(f"  Accept with: countersign servers accept {server['server']} --by YOUR-NAME")


def _show_lines(lines: list[str]) -> None:
    for line in lines:
        screen.say(f"      {visible(json.dumps(line, ensure_ascii=False)[1:-1])}")
