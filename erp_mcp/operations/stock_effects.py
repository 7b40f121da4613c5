"""What writes do to stock. Every change is a row in ``stock_moves``, in the same transaction."""

from dataclasses import dataclass

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.operations.effects import Effect, apply, stale
from erp_mcp.store.prepared import Prepared
from erp_mcp.store.tables import stock, stock_moves
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class MoveStock(Effect):
    """Change what is on hand.

    Args:
        sku: the product.
        warehouse: where.
        delta_milli: added to what is on hand, in thousandths.
        version: of the stock row, as the approver saw it.
        reason: kept with the move.
    """

    sku: str
    warehouse: str
    delta_milli: int
    version: int
    reason: str


@dataclass(frozen=True)
class Reserve(Effect):
    """Set stock aside for an order, if that much is available at this moment."""

    sku: str
    warehouse: str
    quantity_milli: int
    order_id: str


@dataclass(frozen=True)
class Release(Effect):
    """Give back what was set aside for an order."""

    sku: str
    warehouse: str
    quantity_milli: int
    order_id: str
    reason: str = ""


@dataclass(frozen=True)
class TakeBack(Effect):
    """Put goods of an order back on hand, in a warehouse that may never have kept them."""

    sku: str
    warehouse: str
    quantity_milli: int
    order_id: str
    reason: str


_THIS = sa.and_(stock.c.sku == sa.bindparam("of"), stock.c.warehouse == sa.bindparam("place"))
_FREE = stock.c.on_hand_milli - stock.c.reserved_milli
_MILLI = sa.bindparam("milli", type_=sa.BigInteger)

_MOVE_ON_HAND = Prepared(
    sa.update(stock)
    .where(_THIS, stock.c.version == sa.bindparam("seen"))
    .values(on_hand_milli=stock.c.on_hand_milli + _MILLI, version=stock.c.version + 1)
    .returning(stock.c.on_hand_milli, stock.c.reserved_milli, stock.c.version)
)
_RESERVE = Prepared(
    sa.update(stock)
    .where(_THIS, _FREE >= _MILLI)
    .values(reserved_milli=stock.c.reserved_milli + _MILLI, version=stock.c.version + 1)
)
_RELEASE = Prepared(
    sa.update(stock)
    .where(_THIS, stock.c.reserved_milli >= _MILLI)
    .values(reserved_milli=stock.c.reserved_milli - _MILLI, version=stock.c.version + 1)
)
_TAKE_BACK = Prepared(
    sa.update(stock).where(_THIS).values(on_hand_milli=stock.c.on_hand_milli + _MILLI, version=stock.c.version + 1)
)
_RECORDED = (
    "sku", "warehouse", "kind", "on_hand_delta_milli", "reserved_delta_milli", "reason", "order_id", "approval_id", "at"
)  # fmt: skip
_RECORD = Prepared(sa.insert(stock_moves).values({name: sa.bindparam(name) for name in _RECORDED}).inline())

_StockEffect = MoveStock | Reserve | Release | TakeBack


@apply.register
def _move(effect: MoveStock, tx: Tx, approval_id: str) -> JsonObject:
    changed = tx.row(_MOVE_ON_HAND, **_row(effect), seen=effect.version, milli=effect.delta_milli)
    if changed is None:
        raise stale(f"The stock of {effect.sku} in {effect.warehouse}", effect.version)
    _record(tx, effect, "adjustment", approval_id, on_hand=effect.delta_milli, reason=effect.reason)
    return {
        "on_hand": quantity_string(changed.on_hand_milli),
        "reserved": quantity_string(changed.reserved_milli),
        "available": quantity_string(changed.on_hand_milli - changed.reserved_milli),
        "version": changed.version,
    }


@apply.register
def _reserve(effect: Reserve, tx: Tx, approval_id: str) -> JsonObject:
    if tx.change(_RESERVE, **_row(effect), milli=effect.quantity_milli) != 1:
        raise _impossible(effect, "reserved")
    _record(tx, effect, "reserve", approval_id, reserved=effect.quantity_milli, order_id=effect.order_id)
    return {}


@apply.register
def _release(effect: Release, tx: Tx, approval_id: str) -> JsonObject:
    if tx.change(_RELEASE, **_row(effect), milli=effect.quantity_milli) != 1:
        raise _impossible(effect, "released")
    _record(
        tx, effect, "release", approval_id,
        reserved=-effect.quantity_milli, order_id=effect.order_id, reason=effect.reason,
    )  # fmt: skip
    return {}


@apply.register
def _take_back(effect: TakeBack, tx: Tx, approval_id: str) -> JsonObject:
    if tx.change(_TAKE_BACK, **_row(effect), milli=effect.quantity_milli) != 1:
        first = {"sku": effect.sku, "warehouse": effect.warehouse, "on_hand_milli": effect.quantity_milli}
        tx.connection.execute(sa.insert(stock).values(first))
    _record(
        tx, effect, "return", approval_id,
        on_hand=effect.quantity_milli, order_id=effect.order_id, reason=effect.reason,
    )  # fmt: skip
    return {}


def _impossible(effect: Reserve | Release, done: str) -> ErpError:
    return ErpError(
        "insufficient_stock",
        f"{effect.sku} in {effect.warehouse}: {quantity_string(effect.quantity_milli)} cannot be {done}.",
        "Look at the stock with get_stock, and ask the user for another quantity.",
    )


def _row(effect: _StockEffect) -> dict[str, str]:
    return {"of": effect.sku, "place": effect.warehouse}


def _record(
    tx: Tx, effect: _StockEffect, kind: str, approval_id: str, *, on_hand: int = 0, reserved: int = 0,
    reason: str = "", order_id: str | None = None,
) -> None:  # fmt: skip
    tx.change(
        _RECORD, sku=effect.sku, warehouse=effect.warehouse, kind=kind, on_hand_delta_milli=on_hand,
        reserved_delta_milli=reserved, reason=reason, order_id=order_id, approval_id=approval_id, at=tx.now,
    )  # fmt: skip
