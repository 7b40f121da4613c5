"""The triggers of revision 0001 that keep ``order_counts``. Like every migration: history, never edited again."""

import sqlalchemy as sa

# SQLite fires once per row and updates in place.
_SQLITE = """
CREATE TRIGGER order_counts_{event} AFTER {when} ON orders FOR EACH ROW BEGIN {work} END
"""
_ADD_ROW = """
INSERT INTO order_counts (business_date, status, orders) VALUES (NEW.business_date, NEW.status, 1)
ON CONFLICT (business_date, status) DO UPDATE SET orders = orders + 1;
"""
_REMOVE_ROW = """
UPDATE order_counts SET orders = orders - 1 WHERE business_date = OLD.business_date AND status = OLD.status;
"""

# PostgreSQL fires once per statement: a row that is updated per inserted order would leave a dead version each time.
_FUNCTION = """
CREATE FUNCTION order_counts_{event}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {work} RETURN NULL; END $$
"""
_POSTGRESQL = """
CREATE TRIGGER order_counts_{event} AFTER {event} ON orders REFERENCING {tables}
FOR EACH STATEMENT EXECUTE FUNCTION order_counts_{event}()
"""
_ADD_ROWS = """
INSERT INTO order_counts AS kept (business_date, status, orders)
SELECT business_date, status, count(*) FROM added GROUP BY business_date, status
ON CONFLICT (business_date, status) DO UPDATE SET orders = kept.orders + excluded.orders;
"""
_REMOVE_ROWS = """
UPDATE order_counts AS kept SET orders = kept.orders - gone.orders FROM (
    SELECT business_date, status, count(*) AS orders FROM removed GROUP BY business_date, status
) AS gone WHERE gone.business_date = kept.business_date AND gone.status = kept.status;
"""


def create_order_count_triggers(connection: sa.Connection) -> None:
    """Make the triggers; ``orders`` and ``order_counts`` are there already, and empty."""
    for statement in _sqlite() if connection.dialect.name == "sqlite" else _postgresql():
        connection.exec_driver_sql(statement)


def _sqlite() -> list[str]:
    return [
        _SQLITE.format(event="insert", when="INSERT", work=_ADD_ROW),
        _SQLITE.format(event="update", when="UPDATE OF business_date, status", work=_REMOVE_ROW + _ADD_ROW),
        _SQLITE.format(event="delete", when="DELETE", work=_REMOVE_ROW),
    ]


def _postgresql() -> list[str]:
    new, old = "NEW TABLE AS added", "OLD TABLE AS removed"
    events = {
        "insert": (new, _ADD_ROWS),
        "update": (f"{old} {new}", _REMOVE_ROWS + _ADD_ROWS),
        "delete": (old, _REMOVE_ROWS),
    }
    return [
        text.format(event=event, tables=tables, work=work)
        for event, (tables, work) in events.items()
        for text in (_FUNCTION, _POSTGRESQL)
    ]
