"""One tool of another server as the agent holds it: what was accepted, what is offered now, and how it is checked."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from checkpoints.definitions import KnownTool
from erp_mcp.contract import JsonObject, Preview, Reversibility, Risk, bound_facts, digest_of
from erp_mcp.errors import ErpError
from graph.servers.config import ServerConfig
from graph.servers.definitions import Definition, difference, validator_of

UNDO: Final = Reversibility(kind="unknown", how="the tool belongs to another server, which does not say")
NO_PREVIEW: Final = "Another server's tool: what it will do is not known beforehand, and you sign its arguments."


@dataclass(frozen=True)
class ExternalTool:
    """A tool that a server offers, or once offered.

    Args:
        config: the server.
        known: what was accepted, and its name for the model.
        offered: the hash of what the server offers now; None where it does not offer it any more. While the server is
            down: of what it offered last.
    """

    config: ServerConfig
    known: KnownTool
    offered: str | None

    @cached_property
    def definition(self) -> Definition:
        """What was accepted; where nothing was, what the server offers."""
        return Definition.from_json(self.known.accepted or self.known.seen)

    @cached_property
    def validator(self) -> Any:
        """Checks arguments against the full schema."""
        return validator_of(self.definition.schema)

    @cached_property
    def why_withheld(self) -> ErpError | None:
        """Why the model may not call it, or None."""
        name, server = self.known.tool, self.config.name
        if self.offered is None:
            message = f"The server {server} does not offer {name} any more."
            return ErpError("schema_changed", message, "Tell the user; use another tool.", server=server)
        if self.waits:
            what = "is new" if self.known.accepted is None else "has changed since it was accepted"
            hint = f"Tell the user: a person has to look at it and accept it with: countersign servers accept {server}"
            return ErpError("schema_changed", f"{name} of {server} {what}; it is not used.", hint, server=server)
        unusable = self.definition.why_unusable()
        if unusable is not None:
            return ErpError("tool_unusable", f"{name} of {server} cannot be used: {unusable}.", "Use another tool.")
        return None

    @property
    def waits(self) -> bool:
        """Whether the server offers a definition that nobody has accepted."""
        return self.offered is not None and self.known.accepted_hash != self.offered

    def moved(self) -> list[str]:
        """What a person accepts: the accepted definition against the one that is offered, line by line."""
        accepted = None if self.known.accepted is None else Definition.from_json(self.known.accepted)
        return difference(accepted, Definition.from_json(self.known.seen))

    @property
    def risk(self) -> Risk:
        """How it is treated."""
        return self.definition.risk(trusted=self.config.trusted)

    @property
    def has_fallback(self) -> bool:
        """Whether it can be reached over plain HTTP."""
        return self.known.tool in self.config.http

    def for_model(self) -> JsonObject:
        """The tool as chat models are told of it, with whose words these are."""
        words = f"[A tool of the server {self.config.name}.] {self.definition.description}".strip()
        function = {"name": self.known.alias, "description": words, "parameters": self.definition.schema}
        return {"type": "function", "function": function}

    def check(self, arguments: JsonObject) -> None:
        """Checks arguments against the accepted schema, before anything is sent.

        Raises:
            ErpError: ``schema_changed``, ``tool_unusable`` or ``invalid_argument`` with the path of the fault.
        """
        if self.why_withheld is not None:
            raise self.why_withheld
        check_arguments(self.known.alias, self.validator, arguments)

    def preview(self, arguments: JsonObject) -> Preview:
        """What an approver signs: the call itself, to this tool as it was accepted, at this address.

        Args:
            arguments: the whole of them; they are what is sent.
        """
        facts: JsonObject = {
            "server": self.config.name, "address": self.config.address, "tool": self.known.tool,
            "definition": self.known.accepted_hash or "", "may_be_repeated": self.definition.is_idempotent,
        }  # fmt: skip
        bound = bound_facts(arguments, [], [], [], UNDO, facts)
        warnings = [NO_PREVIEW]
        if self.definition.hints.get("destructiveHint") is True:
            warnings.append("Its server calls it destructive.")
        return Preview(
            tool=self.known.alias, summary=f"Call tool {self.known.tool} of server {self.config.name}",
            arguments=arguments, facts=facts, context={"what its server says of it": self.definition.description},
            warnings=warnings, reversibility=UNDO, digest=digest_of(self.known.alias, bound),
        )  # fmt: skip


def check_arguments(tool: str, validator: Any, arguments: Any) -> None:
    """Refuses arguments that do not fit, with the path of the first fault.

    Raises:
        ErpError: ``invalid_argument``.
    """
    fault = next(validator.iter_errors(arguments), None)
    if fault is not None:
        path = ".".join(str(part) for part in fault.instance_path) or "arguments"
        raise ErpError("invalid_argument", f"{path}: {fault.message}", f"Correct {path} and call {tool} again.")
