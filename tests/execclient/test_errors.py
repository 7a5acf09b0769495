"""Every error of this room is caught as one, and says which process or request it concerns."""

from codex_mcp.base.errors import Refused
from codex_mcp.execclient.errors import EventGap, ExecServerError, OutputUnread, PathNotFound, RequestRefused
from codex_mcp.wire.exec.protocol import NOT_FOUND


def test_every_error_is_an_exec_server_error_and_a_sentence_for_people() -> None:
    missing = PathNotFound("fs/readFile", NOT_FOUND, "No such file or directory (os error 2)")
    assert isinstance(missing, RequestRefused)
    for error in (missing, EventGap("p1", 3, 9), OutputUnread("p1", 64)):
        assert isinstance(error, ExecServerError)
        assert isinstance(error, Refused)
        assert str(error).startswith("cannot ")


def test_a_gap_names_its_process_and_the_first_missing_event() -> None:
    gap = EventGap("p1", 3, 9)
    assert (gap.process_id, gap.missing, gap.through) == ("p1", 3, 9)
    assert "process p1" in str(gap)
