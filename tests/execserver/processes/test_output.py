from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.processes.output import OutputLog, looks_denied
from codex_mcp.wire.exec.protocol import Chunk, OutputStream, ProcessClosed, ProcessExited, ProcessRead


def five_chunks() -> OutputLog:
    log = OutputLog("p", 1000, 1000)
    for number in range(1, 6):
        log.append(OutputStream.STDOUT, f"chunk{number}".encode())
    return log


def finished() -> OutputLog:
    log = five_chunks()
    log.exit(0, sandbox_denied=False)
    log.close()
    return log


def seqs(read: ProcessRead) -> list[int]:
    return [chunk.seq for chunk in read.chunks]


def test_all_events_share_one_sequence() -> None:
    log = OutputLog("p", 1000, 1000)
    assert log.append(OutputStream.STDERR, b"x") == Chunk(1, OutputStream.STDERR, b"x")
    assert log.exit(3, sandbox_denied=True) == ProcessExited("p", 2, 3, sandbox_denied=True)
    assert log.append(OutputStream.STDOUT, b"late") == Chunk(3, OutputStream.STDOUT, b"late")
    assert log.close() == ProcessClosed("p", 4)


def test_a_read_returns_what_is_newer_and_at_least_one_chunk() -> None:
    # The numbers are those of the recording of 0.166.0.
    log = finished()
    for max_bytes, expected in [(0, [1]), (1, [1]), (7, [1]), (12, [1, 2]), (13, [1, 2]), (1000, [1, 2, 3, 4, 5])]:
        assert seqs(log.read(0, max_bytes)) == expected, max_bytes
    assert seqs(log.read(3, None)) == [4, 5]


def test_the_next_sequence_counts_all_events_unless_the_read_was_cut_short() -> None:
    log = finished()
    assert log.read(0, None).next_seq == 8
    assert log.read(0, 1000).next_seq == 6
    assert log.read(0, 1).next_seq == 2
    assert log.read(5, 10).next_seq == 8
    assert log.read(99, None).next_seq == 8


def test_a_read_has_news_when_there_is_output_or_an_end() -> None:
    log = five_chunks()
    assert log.has_news(4)
    assert not log.has_news(5)
    log.exit(1, sandbox_denied=False)
    assert log.has_news(5)
    assert not log.has_news(6)
    log.close()
    assert log.has_news(99)


def test_the_oldest_output_goes_first_and_the_newest_stays_however_large() -> None:
    log = OutputLog("p", 10, 3)
    for _ in range(4):
        log.append(OutputStream.PTY, b"x")
    assert seqs(log.read(0, None)) == [2, 3, 4]
    log.append(OutputStream.PTY, b"123456789")
    assert seqs(log.read(0, None)) == [4, 5]
    log.append(OutputStream.PTY, b"x" * 99)
    assert seqs(log.read(0, None)) == [6]
    assert log.kept_bytes == 99


def test_there_is_room_as_long_as_nothing_would_be_forgotten() -> None:
    log = OutputLog("p", 10, 3)
    log.append(OutputStream.STDOUT, b"12345")
    log.mark_sent(1)
    assert log.has_room(5)
    assert not log.has_room(6), "sent is not received"
    log.append(OutputStream.STDOUT, b"1")
    log.append(OutputStream.STDOUT, b"2")
    assert not log.has_room(1)
    log.mark_sent(0)  # late news changes nothing
    assert log.sent == 1


def test_what_was_not_sent_comes_in_order_the_end_included() -> None:
    log = OutputLog("p", 1000, 1000)
    log.append(OutputStream.STDOUT, b"1")
    log.mark_sent(1)
    log.exit(0, sandbox_denied=False)
    log.append(OutputStream.STDOUT, b"3")
    log.close()
    assert [event.seq for event in log.unsent()] == [2, 3, 4]


@given(st.lists(st.binary(min_size=1, max_size=20)), st.integers(0, 50), st.integers(1, 10), st.integers(1, 5))
def test_what_is_kept_is_a_tail_within_the_limits(chunks: list[bytes], after: int, size: int, count: int) -> None:
    log = OutputLog("p", size, count)
    for chunk in chunks:
        log.append(OutputStream.STDOUT, chunk)
    kept = log.read(0, None).chunks
    assert [chunk.chunk for chunk in kept] == chunks[len(chunks) - len(kept) :]
    assert len(kept) <= count
    assert len(kept) <= 1 or log.kept_bytes <= size
    assert log.kept_bytes == sum(len(chunk.chunk) for chunk in kept)
    assert seqs(log.read(after, None)) == [chunk.seq for chunk in kept if chunk.seq > after]


@given(st.lists(st.integers(1, 30), min_size=1), st.integers(1, 100))
def test_reading_in_pieces_gives_everything_once(sizes: list[int], max_bytes: int) -> None:
    log = OutputLog("p", 10_000, 1000)
    for size in sizes:
        log.append(OutputStream.STDOUT, b"x" * size)
    log.exit(0, sandbox_denied=False)
    log.close()
    after, got = 0, []
    while (read := log.read(after, max_bytes)).chunks:
        got += seqs(read)
        after = read.next_seq - 1
    assert got == list(range(1, len(sizes) + 1))
    assert read.next_seq == log.next_seq


def said(*words: bytes) -> list[Chunk]:
    return [Chunk(seq, OutputStream.STDERR, word) for seq, word in enumerate(words, 1)]


def test_a_failure_that_speaks_of_permissions_looks_denied() -> None:
    assert looks_denied(1, said(b"touch: x: Read-Only File Sys", b"tem\n"))
    assert looks_denied(2, said(b"Operation not permitted"))


def test_a_process_ended_by_the_filter_was_denied() -> None:
    assert looks_denied(128 + 31, [])


def test_success_and_other_failures_were_not() -> None:
    assert not looks_denied(0, said(b"permission denied"))
    assert not looks_denied(1, said(b"no such file"))
