"""The results of every kind, for every kind of reader. `python -m tests.mcp.schema.golden_results` writes them anew."""

import re
from pathlib import Path

import msgspec

from codex_mcp.codex.facts import FileChange, Tokens
from codex_mcp.mcp.schema.answer_size import Reader, reader_for
from codex_mcp.mcp.schema.results import Result, WaitReport, described, refused_in_thread, turn_result, wait_result
from codex_mcp.threads.news import NewsKind
from codex_mcp.threads.questions.decisions import NO_CAPABILITY
from codex_mcp.threads.record import Outcome, Status

FOLDER = Path(__file__).parent / "golden"

READERS = {
    "text": "gemini-cli-mcp-client",
    "structured": "claude-code",
    "both": "copilot-cli",
    "unknown": "mcp",
}
"""A client of each kind, by what its model sees."""

LONG = "".join(f"line {number}\n" for number in range(9_000))
"""Longer than any client holds."""

PAUSED: dict[str, object] = {
    "codex_id": "codex:1",
    "identity": "arch",
    "threadId": "t-1",
    "status": "paused",
    "content": "The agent is paused: it has used its tokens.",
}


def outcome(status: Status, content: str = "Done.", *warnings: str) -> Outcome:
    files = (FileChange("/site/a.txt", "add"),)
    return Outcome("t-1", status, content, "running make", Tokens(1, 2, 3, 4, 5), files, 12.3456, warnings=warnings)


def results_for(reader: Reader) -> dict[str, Result]:
    """Every kind of result."""
    done, running = outcome(Status.COMPLETED), outcome(Status.RUNNING)
    not_allowed = f"The agent asked to run the command `make`, which was refused: {NO_CAPABILITY}."
    return {
        "completed": turn_result(done, reader=reader),
        "completed, as the agent of a team": turn_result(
            done, {"codex_id": "codex:1", "identity": "arch"}, reader=reader
        ),
        "completed, collected": wait_result(WaitReport([described(done, reader=reader)]), reader),
        "running": turn_result(running, reader=reader),
        "running, waited for": wait_result(WaitReport(running=[described(running, reader=reader)]), reader),
        "failed": turn_result(outcome(Status.FAILED, "Out of tokens."), reader=reader),
        "interrupted": turn_result(outcome(Status.INTERRUPTED, "I was about to"), reader=reader),
        "paused": wait_result(WaitReport(facts=[(NewsKind.PAUSE, PAUSED)]), reader),
        "refused": turn_result(outcome(Status.COMPLETED, "I did without.", not_allowed), reader=reader),
        "refused call": refused_in_thread("Session not found for thread_id: t-1", "t-1"),
        "long": turn_result(outcome(Status.COMPLETED, LONG), reader=reader),
        "asked": turn_result(running, asks=["May I run `make`?\n  question id: q"], reader=reader),
        "nothing": wait_result(WaitReport(), reader),
    }


def golden(kind: str) -> bytes:
    """The file of one kind of reader. Of a run of lines, the first and the last are named."""
    found = results_for(reader_for(READERS[kind], "2025-11-25", None, is_local=True))
    text = msgspec.json.encode(found).decode()
    text = re.sub(r"line (\d+)\\n(?:line \d+\\n)*line (\d+)(?:\\n)?", r"<lines \1 to \2>", text)
    return msgspec.json.format(text.encode(), indent=1) + b"\n"


if __name__ == "__main__":
    for name in READERS:
        (FOLDER / f"{name}.json").write_bytes(golden(name))
