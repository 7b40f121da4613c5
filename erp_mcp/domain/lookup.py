"""When two spellings mean the same name (DESIGN section 6): never a substring, never a guess."""

import unicodedata


def match_key(text: str) -> str:
    """The form under which names and codes are compared when the text as typed finds nothing.

    NFKC, trimmed, case-folded: ``" ＳＫＵ－１２３ "`` and ``"sku-123"`` agree; ``"01234"`` and ``"1234"`` do not. Inner
    spaces and signs stay as they are. The second NFKC makes it idempotent, since folding can leave loose marks.
    """
    folded = unicodedata.normalize("NFKC", text).strip().casefold()
    return unicodedata.normalize("NFKC", folded).strip()
