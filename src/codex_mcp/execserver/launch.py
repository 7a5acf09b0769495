"""Starts a child on pipes or on a pseudo-terminal, in a session of its own.

`posix_spawn` and not `fork`: the child borrows our memory until it runs its program, so a start costs the same however
large the server is. Two things that it cannot do are done around it. The working directory is changed in the server,
which uses absolute paths only and goes back to `/`. And a child that leads its session and opens a terminal gets it
as its controlling one, so the pseudo-terminal is opened by name, in the child.
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
from dataclasses import dataclass
from typing import Final

DEFAULT_PATH: Final = "/bin:/usr/bin"
"""Where programs are looked for if the child has no PATH, as the C library does it."""

F_SETPIPE_SZ: Final = 1031
"""From linux/fcntl.h."""

ROWS: Final = 24
COLUMNS: Final = 80
"""The size of a terminal nobody has told us about."""

PIPE_BYTES: Final = 512 * 1024
"""What the pipe of stdout holds, if the system lets us: a child that writes 500 MB/s fills it in a millisecond."""

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
"""For `python -c`: becomes the program, under an empty name."""


own_children: Final[set[int]] = set()
"""Processes that were started here and are not buried yet. Any other child of ours is an orphan of one of them."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    arg0: str | None = None
    tty: bool = False
    pipe_stdin: bool = False
    stdin: int | None = None
    """A descriptor that becomes its input, in place of a pipe."""
    pass_fds: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """A started process: our ends of its pipes, and a descriptor that becomes readable when it ends.

    For a terminal, `stdin` and `stdout` are two descriptors of the same thing, and there is no `stderr`.
    """

    pid: int
    pidfd: int
    stdin: int | None
    stdout: int
    stderr: int | None


def launch(what: Launch) -> Child:
    """Start it. Raises OSError if it cannot be started."""
    return _on_terminal(what) if what.tty else _on_pipes(what)


def _on_pipes(what: Launch) -> Child:
    with ExitStack() as ours, ExitStack() as theirs:
        stdout, out = _pipe(ours, theirs)
        with suppress(OSError):  # too many large pipes of this user: the usual size does as well
            fcntl.fcntl(out, F_SETPIPE_SZ, PIPE_BYTES)
        stderr, err = _pipe(ours, theirs)
        actions: list[tuple[object, ...]] = [
            (os.POSIX_SPAWN_DUP2, out, 1),
            (os.POSIX_SPAWN_DUP2, err, 2),
        ]
        stdin = None
        if what.pipe_stdin:
            into, stdin = os.pipe()
            theirs.callback(os.close, into)
            ours.callback(os.close, stdin)
            os.set_blocking(stdin, False)
            actions.append((os.POSIX_SPAWN_DUP2, into, 0))
        elif what.stdin is not None:
            actions.append((os.POSIX_SPAWN_DUP2, what.stdin, 0))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
        pid = _spawn(_program(what.argv[0], what.env), what, actions, what.cwd)
        child = Child(pid, _watched(pid), stdin, stdout, stderr)
        ours.pop_all()
    return child


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    ours.callback(os.close, reading)
    theirs.callback(os.close, writing)
    os.set_blocking(reading, False)
    return reading, writing


def _on_terminal(what: Launch) -> Child:
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
            # 0.166.0: on a terminal arg0 is not only the name but the program itself.
            program = _program(what.argv[0] if what.arg0 is None else what.arg0, what.env)
            pid = _spawn(program, what, actions, _existing(what.cwd, what.env))
        finally:
            os.close(slave)
        child = Child(pid, _watched(pid), writer, master, None)
        ours.pop_all()
    return child


def _spawn(program: str, what: Launch, actions: list[tuple[object, ...]], cwd: str) -> int:
    argv = [what.arg0, *what.argv[1:]] if what.arg0 is not None else list(what.argv)
    # To duplicate a descriptor onto itself is how posix_spawn is told to hand it down.
    actions += [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in what.pass_fds]
    try:
        os.chdir(cwd)
        if not argv[0]:
            program, argv = _without_name(program, argv[1:], what.env)
        return os.posix_spawn(
            program,
            argv,
            what.env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=RESET_SIGNALS,
        )
    finally:
        os.chdir("/")


def _without_name(program: str, words: Sequence[str], env: Mapping[str, str]) -> tuple[str, list[str]]:
    """What to run so that the program finds its name empty, which Python's own functions refuse."""
    if not os.access(program, os.X_OK):
        os.stat(program)  # raises if it is not there
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    kept = "keep" if "LC_CTYPE" in env else "drop"  # Python sets it where there is no locale
    return sys.executable, [sys.executable, "-I", "-S", "-c", RUN_WITHOUT_NAME, kept, program, *words]


def _watched(pid: int) -> int:
    """A descriptor for the end of a child; a child that we could not watch is not left running."""
    own_children.add(pid)
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.killpg(pid, signal.SIGKILL)
        bury(pid)
        raise


def bury(pid: int, flags: int = 0) -> None:
    """Wait for the end of a child (`os.waitpid`); from then on its number may be another process's."""
    with suppress(ChildProcessError):
        os.waitpid(pid, flags)
    own_children.discard(pid)


def _program(name: str, env: Mapping[str, str]) -> str:
    """The file to run: the name, or the first of that name on the child's own PATH."""
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
    """0.166.0: on a terminal a missing folder is no error; the child starts in its home."""
    if os.path.isdir(cwd):
        return cwd
    home = env.get("HOME") or login_entry().pw_dir
    return home if os.path.isdir(home) else "/"


def login_entry() -> pwd.struct_passwd:
    """Who we are, as the password file has it."""
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid())
    return pwd.struct_passwd(("", "", os.getuid(), os.getgid(), "", "/", "/bin/sh"))


def set_size(terminal: int, rows: int, columns: int) -> None:
    """Tell a terminal its size; its foreground processes get SIGWINCH."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
