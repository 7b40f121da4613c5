"""One ASGI application: MCP at ``/mcp``, REST under ``/api``, and whatever a host adds, behind one gate."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from erp_mcp.app import Erp
from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.calls import incident
from erp_mcp.errors import ErpError
from erp_mcp.server import HttpApp
from erp_mcp.web.gate import MCP_PATH, Gate
from erp_mcp.web.replies import error_reply, status_of
from erp_mcp.web.rest import META_HEADERS, rest_router

API_PATH: Final = "/api"
OPENAPI_PATH: Final = "/api/openapi.json"

Lifespan = Callable[[], AbstractAsyncContextManager[None]]


def build_app(
    erp: Erp,
    doorkeeper: Doorkeeper,
    *,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    routers: Iterable[APIRouter] = (),
    open_paths: Collection[str] = (),
    lifespans: Iterable[Lifespan] = (),
) -> FastAPI:
    """The application of one ERP.

    Args:
        erp: what is served; extra tools are its own (``build_erp``).
        doorkeeper: knows who asks.
        hosts: names by which this server may be addressed, besides loopback's.
        origins: web origins that may call, besides the server's own.
        routers: further routes; each request has its principal in ``request.scope[PRINCIPAL]``.
        open_paths: paths that need no token; one that ends with ``/`` stands for all below it.
        lifespans: what else has to be entered and left with the server.
    """
    mcp = HttpApp(erp.server)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for other in lifespans:
                await stack.enter_async_context(other())
            await stack.enter_async_context(mcp.lifespan())
            yield

    app = FastAPI(
        title="Countersign ERP",
        version=version("countersign-erp"),
        openapi_url=OPENAPI_PATH,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        # Only for OpenAPI to name it: the gate has let the request through before.
        dependencies=[Depends(HTTPBearer(scheme_name="bearer", auto_error=False))],
    )
    for router in routers:  # first: no skill's route stands before one of the host
        app.include_router(router)
    app.include_router(rest_router(erp.calls), prefix=API_PATH)
    app.mount(MCP_PATH, mcp)
    _answer_errors(app)
    app.add_middleware(
        Gate, doorkeeper=doorkeeper, hosts=hosts, origins=origins, open_paths={OPENAPI_PATH, *open_paths}
    )
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Mcp-Session-Id", "MCP-Protocol-Version", *META_HEADERS],
            expose_headers=["Mcp-Session-Id", "WWW-Authenticate"],
        )
    return app


def _answer_errors(app: FastAPI) -> None:
    """Whatever is refused by the framework, or goes wrong, is told in the one shape."""

    @app.exception_handler(ErpError)
    async def refused(request: Request, error: ErpError) -> Response:
        return error_reply(error)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        if error.status_code == status_of("method_not_allowed"):
            said = ErpError("method_not_allowed", f"{request.method} is not served here.", f"See {OPENAPI_PATH}.")
        else:
            said = ErpError("unknown_route", "There is nothing at this address.", f"See {OPENAPI_PATH}.")
        return error_reply(said, dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        return error_reply(ErpError("invalid_argument", f"{where}: {first['msg']}.", f"See {OPENAPI_PATH}."))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return error_reply(incident(request.url.path, error))
