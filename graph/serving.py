"""The wiring of ``countersign serve``: the ERP's door for other hosts, and behind it the agent that keeps approvals."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field

from erp_mcp.app import build_erp
from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.issuer import JwtIssuer
from erp_mcp.auth.tokens import FILE, TokenFile
from erp_mcp.calls import Offer, Served, refuse_lacking
from erp_mcp.contract import META_KEY, BatchCall, JsonObject, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.handlers import Unapproved
from erp_mcp.principal import DECIDE, Principal
from erp_mcp.registry import load_registry, skill_directories
from erp_mcp.schema import input_schema, output_schema, parse_arguments
from erp_mcp.server import PRINCIPAL
from erp_mcp.skill import Route
from erp_mcp.web.app import build_app
from erp_mcp.web.serving import serve as listen
from graph.hosts import HostApproval
from graph.office import Office, open_office
from graph.settings import Settings
from graph.web.approvals import approvals_router

GET_APPROVAL: Final = "get_approval"


class ApprovalArguments(BaseModel):
    """The arguments of ``get_approval``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    approval_id: str = Field(max_length=40, description="from the answer to your call")


@dataclass(frozen=True)
class Reach:
    """Where the server listens, and whom it lets in.

    Args:
        host, port: to listen on.
        names: by which it may be addressed besides.
        origins: web origins that may call besides its own.
        jwt_key: a public key in PEM; JWTs that it verifies are taken as tokens.
        jwt_issuer: what their ``iss`` must say.
        private: offer reads that are marked private too.
    """

    host: str
    port: int
    names: Sequence[str] = ()
    origins: Sequence[str] = ()
    jwt_key: Path | None = None
    jwt_issuer: str | None = None
    private: bool = False


def serve(settings: Settings, reach: Reach, started: Callable[[], None]) -> None:
    """Serves until the process is told to stop; what is under way then still finishes.

    Args:
        settings: from the environment.
        reach: where, and for whom.
        started: told once it listens.

    Raises:
        CountersignError, ErpError, CheckpointError: what is missing or wrong.
    """
    with open_app(settings, reach, started) as app:
        listen(app, reach.host, reach.port)


@contextmanager
def open_app(settings: Settings, reach: Reach, started: Callable[[], None]) -> Iterator[FastAPI]:
    """The application, for as long as it is served; see ``serve``."""

    @asynccontextmanager
    async def telling() -> AsyncIterator[None]:
        started()
        yield

    with open_office(settings) as office:
        erp = build_erp(
            settings.erp_database, key_path=settings.key_path, zone=settings.zone,
            registry=load_registry(skill_directories(settings.skills)),
            outside=Offer(private=reach.private, writes=True, batch=False), further=[_get_approval(office)],
            unapproved=_opening(office),
        )  # fmt: skip
        with closing(erp):
            keeper = _doorkeeper(settings.home / FILE, reach, erp.instance_id)
            yield build_app(
                erp, keeper, hosts=[reach.host, *reach.names], origins=reach.origins,
                routers=[approvals_router(office, _approver)], lifespans=[telling],
            )  # fmt: skip


def _doorkeeper(path: Path, reach: Reach, audience: str) -> Doorkeeper:
    if (reach.jwt_key is None) != (reach.jwt_issuer is None):
        raise ErpError("setting_invalid", "--jwt-key and --jwt-issuer belong together.", "Give both, or none.")
    issuer = None
    if reach.jwt_key is not None and reach.jwt_issuer is not None:
        issuer = JwtIssuer.from_file(reach.jwt_key, reach.jwt_issuer, audience)
    tokens = TokenFile(path)
    if issuer is None and not tokens.entries():
        raise ErpError(
            "no_tokens", f"Nobody could call: there are no tokens in {path}.",
            f"Make them with: python -m erp_mcp token new NAME --scope orders:write (or --scope {DECIDE})",
        )  # fmt: skip
    return Doorkeeper(tokens, issuer)


def _opening(office: Office) -> Unapproved:
    """A write without a grant waits in the ledger."""

    def opened(principal: Principal, call: BatchCall, meta: JsonObject) -> WriteAnswer:
        key = meta.get(META_KEY, "")
        if not isinstance(key, str):
            raise ErpError("invalid_argument", f"{META_KEY} is not text.", "Send a text, such as a UUID.")
        return office.ask(principal.name, call.tool, call.arguments, key)

    return opened


def _get_approval(office: Office) -> Served:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> HostApproval:
        arguments = parse_arguments(ApprovalArguments, raw)
        return office.look(principal.name, arguments.approval_id)  # type: ignore[attr-defined]

    return Served(
        name=GET_APPROVAL,
        description=(
            "How far a request of yours has come that a person has to approve: pending, rejected, expired, stale with "
            "the approval that asks again, or executed with its receipt. Give the approval_id of your call's answer. "
            "Ask now and then, not in a loop: a person may need days."
        ),
        risk="read",
        scopes=frozenset(),
        input_schema=input_schema(ApprovalArguments),
        output_schema=output_schema(HostApproval),
        handler=handle,
        exposure="public",
        bindable=True,
        route=Route("GET", "/requests/{approval_id}"),
    )


def _approver(request: Request) -> str:
    principal: Principal = request.scope[PRINCIPAL]
    refuse_lacking(principal, "/api/approvals", [DECIDE])
    if principal.customer is not None:  # an approval is shown whole, whoever's it is
        raise ErpError(
            "forbidden",
            f"{principal.name} is bound to one customer, and approvals are of all of them.",
            "Ask whoever runs the ERP for a token that is not bound.",
        )
    return principal.name
