"""Starts a child on pipes or on a pseudo-terminal, in its own session.

It uses `posix_spawn`, not `fork`: the child shares our memory until it runs its program, so a start costs the same
however large the server is. Two things that `posix_spawn` cannot do are done around it. The working directory is
changed in the server, which uses absolute paths only, and then set back to `/`. And a session leader that opens a
terminal gets it as its controlling terminal, so the child opens the pseudo-terminal by name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import pwd
import signal
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Final

from msgspec import Struct

DEFAULT_PATH: Final = "/bin:/usr/bin"
"""Where programs are searched if the child has no PATH, as in the C library."""

F_SETPIPE_SZ: Final = 1031
"""From linux/fcntl.h."""

ROWS: Final = 24
COLUMNS: Final = 80
"""The initial size of a terminal."""

PIPE_BYTES: Final = 512 * 1024
"""The capacity of stdout's pipe, if the system allows it: a child that writes 500 MB/s fills it in a millisecond."""

RESET_SIGNALS: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these, and an ignored signal stays ignored in a child."""


RUN_WITHOUT_NAME: Final = """\
import ctypes, os, signal, sys
kept, program, *words = sys.argv[1:]
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
if kept == "drop":
    os.environ.pop("LC_CTYPE", None)
argv = (ctypes.c_char_p * (len(words) + 2))(b"", *map(os.fsencode, words), None)
ctypes.CDLL(None).execv(os.fsencode(program), argv)
os._exit(127)
"""
"""For `python -c`: replaces itself with the program, under an empty argv[0]."""


own_children: Final[set[int]] = set()
"""Processes started here and not reaped yet. Any other child of ours is an orphan of one of them."""


class ProcessSpec(Struct, frozen=True):
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    arg0: str | None = None
    tty: bool = False
    pipe_stdin: bool = False
    stdin: int | None = None
    """A descriptor to use as stdin, instead of a pipe."""
    pass_fds: Sequence[int] = ()


class Child(Struct, frozen=True):
    """A started process: our ends of its pipes, and a descriptor that becomes readable when it ends.

    For a terminal, `stdin` and `stdout` are two descriptors of it, and there is no `stderr`.
    """

    pid: int
    pidfd: int
    stdin: int | None
    stdout: int
    stderr: int | None


def launch(spec: ProcessSpec) -> Child:
    """Raises OSError if the process cannot be started."""
    return _on_terminal(spec) if spec.tty else _on_pipes(spec)


def _on_pipes(spec: ProcessSpec) -> Child:
    with ExitStack() as ours, ExitStack() as theirs:
        stdout, out = _pipe(ours, theirs)
        with suppress(OSError):  # this user has too many large pipes; the default size works as well
            fcntl.fcntl(out, F_SETPIPE_SZ, PIPE_BYTES)
        stderr, err = _pipe(ours, theirs)
        actions: list[tuple[object, ...]] = [
            (os.POSIX_SPAWN_DUP2, out, 1),
            (os.POSIX_SPAWN_DUP2, err, 2),
        ]
        stdin = None
        if spec.pipe_stdin:
            into, stdin = os.pipe()
            theirs.callback(os.close, into)
            ours.callback(os.close, stdin)
            os.set_blocking(stdin, False)
            actions.append((os.POSIX_SPAWN_DUP2, into, 0))
        elif spec.stdin is not None:
            actions.append((os.POSIX_SPAWN_DUP2, spec.stdin, 0))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
        pid = _spawn(_program(spec.argv[0], spec.env), spec, actions, spec.cwd)
        child = Child(pid, _watched(pid), stdin, stdout, stderr)
        ours.pop_all()
    return child


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    ours.callback(os.close, reading)
    theirs.callback(os.close, writing)
    os.set_blocking(reading, False)
    return reading, writing


def _on_terminal(spec: ProcessSpec) -> Child:
    with ExitStack() as ours:
        master, slave = pty.openpty()
        ours.callback(os.close, master)
        name = os.ttyname(slave)
        set_size(master, ROWS, COLUMNS)
        os.set_blocking(master, False)
        writer = os.dup(master)
        ours.callback(os.close, writer)
        actions: list[tuple[object, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]
        try:
            # As in 0.166.0: on a terminal, arg0 is also the program to run.
            program = _program(spec.argv[0] if spec.arg0 is None else spec.arg0, spec.env)
            pid = _spawn(program, spec, actions, _existing(spec.cwd, spec.env))
        finally:
            os.close(slave)
        child = Child(pid, _watched(pid), writer, master, None)
        ours.pop_all()
    return child


def _spawn(program: str, spec: ProcessSpec, actions: list[tuple[object, ...]], cwd: str) -> int:
    argv = [spec.arg0, *spec.argv[1:]] if spec.arg0 is not None else list(spec.argv)
    # Duplicating a descriptor onto itself makes posix_spawn pass it to the child.
    actions += [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in spec.pass_fds]
    try:
        os.chdir(cwd)
        if not argv[0]:
            program, argv = _without_name(program, argv[1:], spec.env)
        return os.posix_spawn(
            program,
            argv,
            spec.env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=RESET_SIGNALS,
        )
    finally:
        os.chdir("/")


def _without_name(program: str, words: Sequence[str], env: Mapping[str, str]) -> tuple[str, list[str]]:
    """The command that runs the program with an empty argv[0], which Python's own functions refuse."""
    if not os.access(program, os.X_OK):
        os.stat(program)  # raises if it is missing
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    kept = "keep" if "LC_CTYPE" in env else "drop"  # Python sets it if there is no locale
    return sys.executable, [sys.executable, "-I", "-S", "-c", RUN_WITHOUT_NAME, kept, program, *words]


def _watched(pid: int) -> int:
    """A descriptor to watch for the end of a child. A child that cannot be watched is killed."""
    own_children.add(pid)
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.killpg(pid, signal.SIGKILL)
        reap(pid)
        raise


def reap(pid: int, flags: int = 0) -> None:
    """Wait for the end of a child (`os.waitpid`). Afterwards the system may reuse its process id."""
    with suppress(ChildProcessError):
        os.waitpid(pid, flags)
    own_children.discard(pid)


def _program(name: str, env: Mapping[str, str]) -> str:
    """The file to run: the name itself if it is a path, else found on the child's own PATH."""
    if "/" in name:
        return name
    found: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in env.get("PATH", DEFAULT_PATH).split(":"):
        candidate = os.path.join(folder or ".", name)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
        if os.path.exists(candidate):
            found = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    raise found


def _existing(cwd: str, env: Mapping[str, str]) -> str:
    """As in 0.166.0: on a terminal, a missing folder is not an error; the child starts in its home folder."""
    if os.path.isdir(cwd):
        return cwd
    home = env.get("HOME") or login_entry().pw_dir
    return home if os.path.isdir(home) else "/"


def login_entry() -> pwd.struct_passwd:
    """Our entry in the password file, or a default."""
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid())
    return pwd.struct_passwd(("", "", os.getuid(), os.getgid(), "", "/", "/bin/sh"))


def set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
