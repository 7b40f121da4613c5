"""Between MCP's own types and ours: a call, an answer, a definition."""

from dataclasses import dataclass

import mcp.types as mcp

from graph.servers.definitions import Definition, Json


@dataclass(frozen=True)
class Answer:
    """What a tool answered.

    Args:
        is_error: whether the tool calls it an error; it is an answer all the same.
        structured: its JSON, where the server sent some.
        texts: its texts, in order.
        others: the kinds of its other parts, such as image.
    """

    is_error: bool
    structured: Json | None
    texts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(self.texts)


def request_of(tool: str, arguments: Json, meta: Json | None) -> mcp.ClientRequest:
    """A call by hand: the session's own method checks every answer against its schema in slow Python."""
    wrapped = None if meta is None else mcp.RequestParams.Meta(**meta)
    parameters = mcp.CallToolRequestParams(name=tool, arguments=arguments, _meta=wrapped)
    return mcp.ClientRequest(mcp.CallToolRequest(params=parameters))


def answer_of(result: mcp.CallToolResult) -> Answer:
    """MCP's result in our words."""
    texts = tuple(block.text for block in result.content if isinstance(block, mcp.TextContent))
    others = tuple(block.type for block in result.content if not isinstance(block, mcp.TextContent))
    return Answer(bool(result.isError), result.structuredContent, texts, others)


def definition_of(tool: mcp.Tool) -> Definition:
    """What a server says of a tool; its title counts as a hint."""
    hints = tool.annotations.model_dump(exclude_none=True) if tool.annotations else {}
    if tool.title:
        hints["toolTitle"] = tool.title
    return Definition(tool.name, tool.description or "", tool.inputSchema, tool.outputSchema, hints)
