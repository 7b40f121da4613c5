"""What `make bench` compares. A new comparison is one entry here and a module with its cycles."""

from tests.bench import baseline_langchain, hosts, inbox, ours
from tests.bench.harness import Comparison, Contestant

COMPARISONS = (
    Comparison(
        name="approval-cycle",
        ours=Contestant("Countersign: preview, ledger, MCP, grant, audit", ours.approval_cycle),
        others=(
            (Contestant("LangChain HITL, bare tool", baseline_langchain.bare_tool), 1.25),
            (Contestant("LangChain HITL, tool over MCP", baseline_langchain.tool_over_mcp), 1.0),
        ),
        rounds=100,
    ),
    Comparison(
        name="bridge-read",
        ours=Contestant("Countersign's bridge, session held", ours.bridge_read),
        others=((Contestant("server and client per call", ours.server_per_call), 0.2),),
        rounds=50,
        warmup=5,
    ),
    Comparison(
        name="held-read",
        ours=Contestant("Countersign's bridge, session held", ours.bridge_read),
        others=(
            (Contestant("bare FastMCP client, unchecked answer", hosts.bare_client(typed=False)), 1.3),
            (Contestant("bare FastMCP client, typed answer", hosts.bare_client(typed=True)), 1.3),
        ),
        rounds=300,
        warmup=30,
    ),
    Comparison(
        name="http-reads",
        ours=Contestant("Countersign over HTTP, 16 clients at once", hosts.over_http(hosts.countersign_server)),
        others=((Contestant("bare FastMCP over HTTP", hosts.over_http(hosts.bare_http_server)), 1.25),),
        rounds=40,
        warmup=5,
    ),
    Comparison(
        name="inbox",
        ours=Contestant("first page, 100,000 approvals wait", inbox.first_page(inbox.MANY)),
        others=((Contestant("first page, 100 wait", inbox.first_page(inbox.FEW)), 1.5),),
        rounds=60,
    ),
    Comparison(
        name="decision",
        ours=Contestant("approve one, 100,000 wait", inbox.decision(inbox.MANY)),
        others=((Contestant("approve one, 100 wait", inbox.decision(inbox.FEW)), 1.5),),
        rounds=60,
    ),
)
