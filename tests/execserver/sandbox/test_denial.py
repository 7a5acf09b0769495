from codex_mcp.execserver.sandbox.denial import looks_denied
from codex_mcp.wire.exec.protocol import Chunk, OutputStream


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
