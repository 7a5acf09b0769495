"""Whether what is there is the recorded core: each difference alone says no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_mcp.codex.surviving.record import CoreRecord, Seen, decoded, encoded, why_other

RECORD = CoreRecord("boot", 7, 1234, "mark", 1000, "0.163.0", "/state/core/mark.sock", 1.5)
SEEN = Seen("boot", 1234, "mark", 1000, (7, 1000), is_alive=True)


def test_a_core_of_which_all_is_seen_again_is_the_recorded_one() -> None:
    assert why_other(RECORD, SEEN) == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"boot": "another"}, "the machine was started again since then"),
        ({"boot": ""}, "the machine was started again since then"),
        ({"started": 1235}, "process 7 is another one by now"),
        ({"started": None}, "process 7 is another one by now"),
        ({"mark": "another"}, "process 7 does not have its mark"),
        ({"mark": ""}, "process 7 does not have its mark"),
        ({"uid": 1001}, "it belongs to user 1000"),
        ({"peer": (8, 1000)}, "process 8 of user 1000 listens on its socket"),
        ({"peer": (7, 1001)}, "process 7 of user 1001 listens on its socket"),
        ({"is_alive": False}, "process 7 has ended"),
    ],
)
def test_one_difference_is_enough(changed: dict[str, object], why: str) -> None:
    assert why_other(RECORD, replace(SEEN, **changed)) == why


def test_an_empty_field_proves_nothing_even_if_nothing_is_seen() -> None:
    assert why_other(replace(RECORD, boot=""), replace(SEEN, boot=""))
    assert why_other(replace(RECORD, mark=""), replace(SEEN, mark=""))


RECORDS = st.builds(
    CoreRecord,
    st.text(),
    st.integers(0, 2**31),
    st.integers(0, 2**53),
    st.text(),
    st.integers(0, 2**31),
    st.text(),
    st.text(),
    st.floats(0, 1e10),
)


@given(RECORDS)
def test_a_record_is_read_as_it_was_written(record: CoreRecord) -> None:
    assert decoded(encoded(record)) == record


@given(st.binary())
def test_what_is_no_record_is_none(data: bytes) -> None:
    found = decoded(data)
    assert found is None or encoded(found)


@pytest.mark.parametrize("cut", range(0, 120, 7))
def test_a_torn_record_is_none(cut: int) -> None:
    assert decoded(encoded(RECORD)[:cut]) is None
