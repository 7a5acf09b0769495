"""Records: messages cut, sealed, opened and put together again."""

import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay import records as module
from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.records import MAX_MESSAGE_BYTES, RECORD_BYTES, RecordReader, records
from codex_mcp.relay.symmetric import CipherState
from tests.support.relay import paired_ciphers


def test_a_message_is_preceded_by_its_length_and_cut() -> None:
    message = bytes(range(256)) * 600
    cut = list(records(message))
    assert b"".join(cut) == len(message).to_bytes(4, "big") + message
    assert [len(record) for record in cut] == [RECORD_BYTES, RECORD_BYTES, len(message) + 4 - 2 * RECORD_BYTES]


@given(st.lists(st.binary(min_size=1, max_size=400), max_size=20), st.randoms(use_true_random=False))
def test_messages_survive_any_cut_of_their_stream(messages: list[bytes], chance: Random) -> None:
    stream = b"".join(b"".join(records(message)) for message in messages)
    harness, executor = paired_ciphers()
    reader = RecordReader(executor.receiving)
    arrived = []
    while stream:
        size = chance.randint(1, 300)
        arrived += reader.opened(harness.sending.encrypt(stream[:size]))
        stream = stream[size:]
    assert arrived == messages


@pytest.mark.parametrize("size", [0, MAX_MESSAGE_BYTES + 1])
def test_a_message_has_limits(size: int) -> None:
    with pytest.raises(RelayError, match="limit"):
        next(records(bytes(size)))
    harness, executor = paired_ciphers()
    with pytest.raises(RelayError, match="limit"):
        RecordReader(executor.receiving).opened(harness.sending.encrypt(size.to_bytes(4, "big")))


def test_a_record_that_is_too_large_is_refused_before_it_is_opened() -> None:
    harness, executor = paired_ciphers()
    reader = RecordReader(executor.receiving)
    with pytest.raises(RelayError, match="limit"):
        reader.opened(harness.sending.encrypt(bytes(RECORD_BYTES + 1)))
    assert executor.receiving.counter == 0


def test_the_largest_message_is_put_together_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is joined once, not once per further record."""
    sealing, opening = CipherState(bytes(32)), CipherState(bytes(32))
    reader = RecordReader(opening)
    message = bytes(2 * 1024 * 1024)
    calls = 0
    completed = RecordReader._completed

    def counted(self: RecordReader) -> list[bytes]:
        nonlocal calls
        calls += 1
        return completed(self)

    monkeypatch.setattr(module.RecordReader, "_completed", counted)
    arrived = [whole for record in records(message) for whole in reader.opened(sealing.encrypt(record))]
    assert arrived == [message]
    assert calls == 2


def test_a_message_in_tiny_records_takes_no_more_memory_than_its_bytes() -> None:
    sealing = CipherState(bytes(32))
    sealed = [sealing.encrypt(part) for part in ((1 << 20).to_bytes(4, "big"), *([b"xx", b""] * 5000))]
    reader = RecordReader(CipherState(bytes(32)))
    tracemalloc.start()
    try:
        assert [message for each in sealed for message in reader.opened(each)] == []
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
