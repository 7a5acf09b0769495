import re

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.ulid import ALPHABET, ulid

MOMENTS = st.integers(0, 2**47).map(lambda milliseconds: milliseconds / 1000)
RANDOM = st.binary(min_size=10, max_size=10)


def test_the_form() -> None:
    assert ulid(1469918176.385, bytes(10)) == "01ARYZ6S410000000000000000"


@given(MOMENTS, MOMENTS, RANDOM, RANDOM)
def test_later_ids_sort_later(one: float, other: float, some: bytes, more: bytes) -> None:
    first, second = ulid(one, some), ulid(other, more)
    assert re.fullmatch(f"[0-7][{ALPHABET}]{{25}}", first)
    if round(one * 1000) < round(other * 1000):
        assert first < second
