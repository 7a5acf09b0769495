"""A Codex that takes no time: it was recorded from the real one, and plays one turn again and again.

The real one takes tens of milliseconds for a turn, never twice the same; what we add is far less than that difference.
`python benchmarks/replay.py RECORDING` speaks as `codex app-server` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

NUMBER_CHARS = 8
"""How much of an id is replaced by a number, so that no two threads and no two turns have the same."""


class Recording(Struct):
    """What the real Codex answered and said."""

    opened: Raw
    """The answer to thread/start."""
    started: Raw
    """The answer to turn/start."""
    turn_id: str
    said: list[Raw]
    """The notifications from there to turn/completed, in order."""


class _Thread(Struct):
    id: str


class _Opened(Struct):
    thread: _Thread


class _Params(Struct, rename="camel"):
    thread_id: str = ""


class _Request(Struct):
    method: str
    id: int | str | None = None
    params: _Params | None = None


def program(folder: Path, recording: Recording, version: str) -> Path:
    """Write the recording, and a program that plays it and says that it is this version."""
    folder.mkdir()
    record, path = folder / "recording.json", folder / "codex"
    record.write_bytes(msgspec.json.encode(recording))
    play = f'exec "{sys.executable}" "{Path(__file__).resolve()}" "{record}"'
    path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "codex-cli {version}"; else {play}; fi\n')
    path.chmod(0o755)
    return path


def play(recording: Recording) -> None:
    """Answer until stdin ends. Each thread and each turn has an id of its own."""
    out = sys.stdout.buffer
    thread_id = msgspec.json.decode(recording.opened, type=_Opened).thread.id
    threads = turns = 0
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line, type=_Request)
        if request.id is None:
            continue
        lines = [msgspec.json.encode({"id": request.id, "result": _result(request.method, recording)})]
        if request.method == "thread/start":
            threads += 1
            lines = _renamed(lines, thread_id, _numbered(thread_id, threads))
        if request.method == "turn/start":
            turns += 1
            lines += map(bytes, recording.said)
            lines = _renamed(lines, recording.turn_id, _numbered(recording.turn_id, turns))
            if request.params is not None:
                lines = _renamed(lines, thread_id, request.params.thread_id)
        for each in lines:
            out.write(each + b"\n")
            out.flush()  # one by one, as the real one does


def _numbered(one_id: str, number: int) -> str:
    return f"{number:0{NUMBER_CHARS}}{one_id[NUMBER_CHARS:]}"


def _renamed(lines: list[bytes], old: str, new: str) -> list[bytes]:
    return [each.replace(old.encode(), new.encode()) for each in lines]


def _result(method: str, recording: Recording) -> Raw:
    return {"thread/start": recording.opened, "turn/start": recording.started}.get(method, Raw(b"{}"))


if __name__ == "__main__":
    play(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Recording))
