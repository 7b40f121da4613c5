"""A product as the user names it, and how a name becomes a SKU: through search, never by a guess."""

import re
from dataclasses import dataclass

from erp_mcp.contract import JsonObject
from graph.planner.entities import clean_sku, sku_spans
from graph.planner.knowledge import Known
from graph.planner.steps import Call, Say, Step

_EDGES = (
    r"(?i)^(?:\s|[\"“”「」『』《》'().,:;!?。、]|\b(?:the|of|our|any|some|product|item|article|sku)\b|商品|产品|的)+"
)
_ENDS = r"(?i)(?:\s|[\"“”「」『』《》'().,:;!?。、]|\b(?:please|product|items?)\b|商品|产品|的|还|现在|目前|我们)+$"


@dataclass(frozen=True)
class Product:
    """A product by SKU, or by name where ``sku`` is empty."""

    sku: str = ""
    name: str = ""


def product_in(raw: str, text: str) -> Product | None:
    """The one product in a stretch of text: its SKU if there is one, else the words as a name; None for no words."""
    spans = sku_spans(text)
    if spans:
        return Product(sku=spans[0][2])
    name = re.sub(_ENDS, "", re.sub(_EDGES, "", raw))
    if re.fullmatch(r"[0-9]{4,}", name):
        return Product(sku=clean_sku(name))
    return Product(name=name) if re.search(r"[^\W\d_]", name) else None


def resolve(product: Product, known: Known) -> str | Step:
    """The product's SKU, or the step that leads to it: a search by name, or a question to the user."""
    if product.sku:
        return product.sku
    if not known.offers("search_products"):
        return known.say(
            f"Which SKU is “{product.name}”? Please give it, for example NW-011.",
            f"请问「{product.name}」的货号（SKU）是什么？例如 NW-011。",
        )
    search = Call("search_products", {"query": product.name})
    answer = known.result(search)
    if answer is None or answer.error:
        return search
    return _pick(product.name, _rows(answer.body), known)


def _rows(body: JsonObject) -> list[JsonObject]:
    items = body.get("items") or body.get("result") or []
    return [row for row in items if isinstance(row, dict) and row.get("sku")] if isinstance(items, list) else []


def _pick(name: str, rows: list[JsonObject], known: Known) -> str | Say:
    exact = [row for row in rows if str(row.get("name", "")).casefold() == name.casefold()]
    chosen = exact or rows
    if len(chosen) == 1:
        return str(chosen[0]["sku"])
    if not chosen:
        return known.say(
            f"I found no product called “{name}”. Please give its SKU.",
            f"没有找到名为「{name}」的商品，请提供货号（SKU）。",
        )
    listed = "\n".join(f"- {row['sku']} {row.get('name', '')}".rstrip() for row in chosen[:10])
    return known.say(
        f"“{name}” fits {len(chosen)} products. Which one do you mean?\n{listed}",
        f"「{name}」对应 {len(chosen)} 种商品，请问是哪一种？\n{listed}",
    )
