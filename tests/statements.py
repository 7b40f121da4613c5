"""The statements that the ERP sends, as its driver gets them: prepared ones and SQLAlchemy's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import sqlalchemy as sa

from erp_mcp.store.prepared import Prepared
from erp_mcp.store.transaction import Tx

Statement = tuple[str, Any]


@contextmanager
def sent_statements() -> Iterator[list[Statement]]:
    """Every statement with its parameters, in order, while the block runs; BEGIN is left out."""
    sent: list[Statement] = []
    asked = Tx.rows

    def note(
        _connection: object, _cursor: object, statement: str, parameters: Any, _context: object, _many: bool
    ) -> None:
        if not statement.startswith("BEGIN"):
            sent.append((statement, parameters))

    def noted(tx: Tx, statement: Prepared, **values: Any) -> list[Any]:
        form = statement.on(tx.dialect)
        sent.append((form.text, form.parameters(values)))
        return asked(tx, statement, **values)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        with patch.object(Tx, "rows", noted):
            yield sent
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
