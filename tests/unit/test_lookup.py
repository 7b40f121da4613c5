"""Which spellings are the same name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erp_mcp.domain.lookup import match_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＳＫＵ－１２３", "SKU-123"),
        ("SKU123 ", "sku123"),
        ("STRASSE", "straße"),
        ("Caf\u0065\u0301", "CAFÉ"),
        ("\u3000a", "A"),
    ],
)
def test_width_case_and_outer_space_do_not_matter(one: str, other: str) -> None:
    """What people cannot see or do not mean does not keep them from finding a row."""
    assert match_key(one) == match_key(other)


@pytest.mark.parametrize(("one", "other"), [("01234", "1234"), ("A-1", "A1"), ("a b", "ab"), ("é", "e")])
def test_what_people_can_mean_is_kept(one: str, other: str) -> None:
    """Zeros, signs, inner space and accents tell names apart."""
    assert match_key(one) != match_key(other)


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    """Applying it twice changes nothing, so keys can be compared however they were made."""
    assert match_key(match_key(text)) == match_key(text)
