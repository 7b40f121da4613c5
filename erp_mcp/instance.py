"""Which ERP this is: what a host must know before it can sign for it."""

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.store.engine import Store
from erp_mcp.store.tables import meta


class Instance(Wire):
    """One installation.

    Args:
        instance_id: the audience of its grants; made with the database.
        dataset: what was loaded into it, empty if nothing was.
        currency: the business currency.
    """

    instance_id: str
    dataset: str
    currency: str


def read_instance(store: Store) -> Instance:
    """What the database says about itself."""
    with store.read() as tx:
        known = {row.key: row.value for row in tx.connection.execute(sa.select(meta))}
    return Instance(instance_id=store.instance_id, dataset=known.get("dataset", ""), currency=known.get("currency", ""))
