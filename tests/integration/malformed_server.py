"""An MCP server over stdio that breaks its word: it answers calls with what is no answer, and writes lines of noise."""

import json
import sys

TOOLS = [{"name": "broken", "description": "Breaks.", "inputSchema": {"type": "object"},
          "annotations": {"readOnlyHint": True}},
         {"name": "liar", "description": "Promises a number.", "inputSchema": {"type": "object"},
          "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
          "annotations": {"readOnlyHint": True}},
         {"name": "far", "description": "Its schema points elsewhere.",
          "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}},
         {"name": "endless", "description": "x" * 60_000, "inputSchema": {"type": "object"}},
         {"name": "with.dots and spaces", "description": "Odd.", "inputSchema": {"type": "object"}}]  # fmt: skip
CAPABLE = {"capabilities": {"tools": {}}, "serverInfo": {"name": "malformed", "version": "1"}}


def answer(request: dict) -> object:  # type: ignore[type-arg]  # whatever the wire brings
    """The result of a request."""
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], **CAPABLE}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "liar":
        return {"content": [], "structuredContent": {"n": "many"}}
    return {"content": "nonsense"} if method == "tools/call" else {}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print("this is not JSON", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)
