"""Any value that JSON can hold, for property tests."""

from hypothesis import strategies as st

SCALARS = st.none() | st.booleans() | st.integers() | st.text()


def _nested(leaves: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )


JSON_VALUES = _nested(SCALARS | st.floats())

FINITE_VALUES = _nested(SCALARS | st.floats(allow_nan=False, allow_infinity=False))
"""Without NaN and the infinities, which Python writes and JSON does not have."""
