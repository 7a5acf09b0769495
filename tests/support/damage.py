"""Ways in which the file of a thread is damaged: a full disk, a loss of power, a hand that edits it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final


def _cut(share: float) -> Callable[[bytes], bytes]:
    return lambda data: data[: int(len(data) * share)]


def _cut_between_lines(data: bytes) -> bytes:
    """Without the last turn, after a whole line."""
    lines = data.splitlines(keepends=True)
    last_start = max(at for at, line in enumerate(lines) if b'"task_started"' in line)
    return b"".join(lines[:last_start])


def _zeros(data: bytes) -> bytes:
    """What some filesystems leave after a loss of power."""
    kept = len(data) * 9 // 10
    return data[:kept] + bytes(len(data) - kept)


def _without_middle(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 3] + lines[len(lines) * 2 // 3 :])


def _without_beginning(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:1] + lines[len(lines) // 2 :])


def _spoiled_lines(data: bytes) -> bytes:
    """The answers of the model cannot be read any more."""
    lines = data.splitlines(keepends=True)
    return b"".join(b"\xff\0spoiled\n" if b'"role":"assistant"' in line else line for line in lines)


def _only_the_head(data: bytes) -> bytes:
    return data.splitlines(keepends=True)[0]


DAMAGES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "half": _cut(0.5),
    "most of it": _cut(0.9),
    "whole turns": _cut_between_lines,
    "zeros": _zeros,
    "no middle": _without_middle,
    "no beginning": _without_beginning,
    "spoiled lines": _spoiled_lines,
    "only the head": _only_the_head,
}


def rollout(codex_home: Path, thread_id: str) -> Path:
    """The newest file of a thread; a rollback begins another one."""
    return max(codex_home.rglob(f"rollout-*{thread_id}*"), key=lambda path: path.name)


def damage(codex_home: Path, thread_id: str, how: str) -> None:
    path = rollout(codex_home, thread_id)
    path.write_bytes(DAMAGES[how](path.read_bytes()))
