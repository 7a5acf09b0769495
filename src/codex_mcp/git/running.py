"""Runs git: guarded, for a limited time, with limited output. Blocks.

Every run names the folder. A child is awaited here, so the search for orphaned processes does not find it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import visible
from codex_mcp.base.processes.marks import OURS, RUN_BY
from codex_mcp.base.processes.offspring import AwaitedChild, no_longer_awaited
from codex_mcp.base.processes.programs import find, places
from codex_mcp.git import guard

PATIENCE: Final = 10.0
"""Seconds for a run that only looks. A status of the largest repositories takes some seconds."""

CHECKOUT_PATIENCE: Final = 300.0
"""Seconds to check out or remove a worktree: hundreds of thousands of files, on a slow disk."""

LONGEST_OUTPUT: Final = 32 * 1024 * 1024
"""Bytes: the names of some hundred thousand files."""

LOOK_EVERY: Final = 0.05
"""Seconds between two looks whether git has ended, while it writes nothing."""

MOST_MEMORY: Final = 2 * 1024**3
"""Bytes that a run may have by itself, besides files that it maps: an index of a million files takes some hundred MB. A
reference that an unpacked repository brings as a link to a device has no end."""

SHOWN_LINES: Final = 5
"""Of git's own words. On a full disk it has one for each file."""

FULL: Final = 256 * 1024
"""Bytes that are free on a disk that git could not write to."""

LONGEST_ERROR: Final = 1000
"""Characters of git's own words in an error of ours."""


class GitFailed(Explained):
    """git could not do it; the text has its own words."""


class Ran(Struct, frozen=True):
    code: int
    out: bytes
    errors: str
    is_cut: bool = False
    """There was more output than was asked for."""


class _Job(Struct, frozen=True):
    folder: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    given: bytes | BinaryIO | None = None


class Git:
    """git for one folder. `places` are variables such as GIT_DIR, which then does not depend on the folder's files."""

    def __init__(self, folder: str, *, places: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._environment = guard.lookups(_inherited()) | dict(places or {})
        self._is_sealed = False

    @classmethod
    def sealed(cls, folder: str, places: Mapping[str, str], settings: Mapping[str, str]) -> Git:
        """git that reads no configuration but these settings and that of the GIT_DIR in `places`, which is ours."""
        git = cls(folder)
        git._is_sealed = True
        git._environment = guard.sealed(_inherited(), settings) | dict(places)
        return git

    def ask(
        self,
        *words: str,
        limit: int = LONGEST_OUTPUT,
        patience: float = PATIENCE,
        given: bytes | BinaryIO | None = None,
    ) -> bytes:
        """git's answer. Raises GitFailed."""
        ran = self.run(*words, limit=limit, patience=patience, given=given)
        if ran.code:
            raise GitFailed(f"git {words[0]} failed in {self.folder}: {ran.errors or f'exit code {ran.code}'}")
        return ran.out

    def line(self, *words: str) -> str | None:
        """The first line of git's answer, or None if it fails or is empty."""
        ran = self.run(*words)
        return None if ran.code else ran.out.decode(errors="surrogateescape").partition("\n")[0] or None

    def succeeds(self, *words: str) -> bool:
        return self.run(*words).code == 0

    def run(
        self,
        *words: str,
        limit: int = LONGEST_OUTPUT,
        patience: float = PATIENCE,
        variables: Mapping[str, str] | None = None,
        given: bytes | BinaryIO | None = None,
    ) -> Ran:
        """Run git; `given` is its input. Raises GitFailed if it cannot be started, or takes too long."""
        if not self._is_sealed and words[0] not in guard.LOOKUPS:
            raise ValueError(f"git {words[0]} could run programs that a repository chooses; it must be sealed")
        return _run(_Job(self.folder, words, {**self._environment, **(variables or {})}, given), limit, patience)


class _Running:
    """The runs of git in this process, which would outlive it while they wait for something."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_ending = False
        atexit.register(self._end)

    def started(self, job: _Job, program: str, search_path: str) -> subprocess.Popen[bytes]:
        """Start git. This process does not end before the new one is in our list. Raises OSError, GitFailed."""
        with AwaitedChild() as note:
            if self._is_ending:
                raise GitFailed("the server is ending")
            process = subprocess.Popen(
                [program, "--no-pager", *job.words],
                cwd=job.folder,
                env={
                    **job.environment,
                    "PATH": search_path,
                    RUN_BY: OURS,
                },  # so that the guard ends it if we are killed
                stdin=_input(job.given),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            note(process.pid)
            self._processes.add(process)
        _limit_memory(process.pid)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        self._processes.discard(process)
        no_longer_awaited(process.pid)

    def _end(self) -> None:
        with AwaitedChild():  # no thread is starting one
            self._is_ending = True
        for process in list(self._processes):
            _end(process)


_running: Final = _Running()


def _limit_memory(pid: int) -> None:
    """Let it have no more than `MOST_MEMORY`, with each of its children, where the system can limit another process."""
    import resource  # noqa: PLC0415  not at the server's start

    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # it has ended, or has less already
            resource.prlimit(pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _inherited() -> Mapping[str, str]:
    return os.environ  # noqa: TID251  git needs the user's own HOME and PATH, as the server got them


def _run(job: _Job, limit: int, patience: float) -> Ran:
    deadline = time.monotonic() + patience
    with _started(job) as process:
        out, errors = _read(process, job.given, limit + 1, deadline)
        is_cut = len(out) > limit
        if is_cut:
            _end(process)
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as exc:
            raise GitFailed(
                f"git {job.words[0]} took longer than {patience:g} s in {job.folder} and was stopped"
            ) from exc
        return Ran(0 if is_cut else code, out[:limit], _told(errors, job.folder) if code else "", is_cut)


@contextlib.contextmanager
def _started(job: _Job) -> Iterator[subprocess.Popen[bytes]]:
    """git while it runs. Afterwards it has ended, with all its children."""
    search_path = places(job.environment.get("PATH", os.defpath), job.folder)
    program = find("git", search_path)
    if program is None:
        raise GitFailed("git is not installed, or not in the server's PATH")
    try:
        process = _running.started(job, program, os.pathsep.join(search_path))
    except OSError as exc:
        raise GitFailed(f"cannot run git in {job.folder}: {exc.strerror or exc}") from exc
    try:
        yield process
    finally:
        _end(process)
        process.wait()
        _running.ended(process)
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


def _told(errors: bytes, folder: str) -> str:
    """git's own words, each line once if it only names another file, and whether the disk is full: git may not say."""
    lines: dict[str, str] = {}
    for line in visible(errors.decode(errors="replace")).strip().splitlines():  # names of files are in it
        lines.setdefault(line if len(lines) < SHOWN_LINES else "", line if len(lines) < SHOWN_LINES else "…")
    with contextlib.suppress(OSError):
        disk = os.statvfs(folder)
        if disk.f_bavail * disk.f_frsize < FULL or (disk.f_files and not disk.f_favail):
            lines["full"] = "No space is left on the disk."
    return "\n".join(lines.values())


def _input(given: bytes | BinaryIO | None) -> int:
    if given is None:
        return subprocess.DEVNULL
    return subprocess.PIPE if isinstance(given, bytes) else given.fileno()


def _read(
    process: subprocess.Popen[bytes], given: bytes | BinaryIO | None, most: int, deadline: float
) -> tuple[bytes, bytes]:
    """Give it its input; what it writes and the beginning of its errors, until it ends, has written `most` bytes, or is
    out of time.

    A program that it leaves in the background may hold the pipes open for ever.
    """
    out, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, found in ((process.stdout, out), (process.stderr, errors)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, found)
        if process.stdin is not None and isinstance(given, bytes):
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, bytearray(given))
        while selector.get_map() and len(out) < most and time.monotonic() < deadline:
            has_ended = process.poll() is not None
            ready = selector.select(0.0 if has_ended else LOOK_EVERY)
            if has_ended and not ready:
                break
            for key, event in ready:
                if event & selectors.EVENT_WRITE:
                    if _has_fed(key.fd, key.data):
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
                    continue
                data = os.read(key.fd, 1 << 16)
                key.data.extend(data)
                if not data:
                    selector.unregister(key.fileobj)
            del errors[LONGEST_ERROR:]
    return bytes(out), bytes(errors)


def _has_fed(pipe: int, left: bytearray) -> bool:
    """Write a part of its input; whether that was the last."""
    try:
        del left[: os.write(pipe, left[: 1 << 16])]
    except BlockingIOError:
        return False
    except BrokenPipeError:
        return True  # it wants no more
    return not left


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill it with its children, unless it has ended. It is its own process group until it is awaited."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
