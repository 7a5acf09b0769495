"""Pure. The arguments that make bubblewrap keep a policy, once it is known what exists.

Mounts are made from the short paths to the long ones, so that the narrower rule wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

KERNEL_SETTINGS: Final = tuple(
    f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "tty")
)
"""Parts of /proc that change the machine. Their files belong to root, so what a server confines that runs as root could
write them: the kernel asks for the owner only, not for a capability."""


class Kind(StrEnum):
    """What a path becomes inside."""

    READ = "read"
    WRITE = "write"
    HIDDEN_FOLDER = "hidden folder"
    HIDDEN_FILE = "hidden file"
    EMPTY = "empty"
    """A folder that is not there, and shall not come into being."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One mount. What is shown is given as an open descriptor, so that nobody exchanges it for something else; a hidden
    file needs one without content."""

    path: str
    kind: Kind
    descriptor: int = -1


@dataclass(frozen=True, slots=True)
class View:
    """What a confined process sees."""

    has_network: bool
    base: Kind | None
    """How the root of the file system is seen; None shows nothing but the layers."""
    layers: Sequence[Layer] = ()
    seccomp: int = -1
    """A descriptor with the filter."""
    has_scratch: bool = True
    """Files may be made in /dev, which is its own: shared memory needs that."""


@dataclass(frozen=True, slots=True)
class Command:
    """How a command runs inside."""

    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    arg0: str | None = None


def arguments(view: View, command: Command) -> list[str]:
    """The options; the command itself comes after them and a `--`. The environment is among them: bubblewrap runs
    without one, because a library that the environment preloads would run before there are any limits."""
    words = ["--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    if not view.has_network:
        words.append("--unshare-net")
    words += _root(view)
    layers = sorted(view.layers, key=lambda layer: layer.path.count("/"))
    for layer in layers:
        words += _mount(layer, has_inner=any(other.path.startswith(layer.path + "/") for other in layers))
    for layer in layers:
        if layer.kind in (Kind.HIDDEN_FOLDER, Kind.EMPTY):
            # Not before: what is granted inside a hidden folder needs a place there to be mounted on.
            words += ["--remount-ro", layer.path]
    if view.base is None:
        words += ["--remount-ro", "/"]
    words += ["--seccomp", str(view.seccomp), "--chdir", command.cwd]
    for name, value in command.env.items():
        words += ["--setenv", name, value]
    if command.arg0 is not None:
        words += ["--argv0", command.arg0]
    return words


def _root(view: View) -> list[str]:
    if view.base is Kind.WRITE:
        return ["--dev-bind", "/", "/", "--proc", "/proc"]
    words = ["--tmpfs", "/"] if view.base is None else ["--ro-bind", "/", "/"]
    words += ["--dev", "/dev", *([] if view.has_scratch else ["--remount-ro", "/dev"]), "--proc", "/proc"]
    for path in KERNEL_SETTINGS:
        words += ["--ro-bind-try", path, path]
    return words


def _mount(layer: Layer, *, has_inner: bool) -> Iterable[str]:
    match layer.kind:
        case Kind.READ:
            return ["--ro-bind-fd", str(layer.descriptor), layer.path]
        case Kind.WRITE:
            return ["--bind-fd", str(layer.descriptor), layer.path]
        case Kind.HIDDEN_FOLDER:
            # With something granted inside, it can be passed through, but not listed.
            return ["--perms", "111" if has_inner else "000", "--tmpfs", layer.path]
        case Kind.HIDDEN_FILE:
            return ["--perms", "000", "--ro-bind-data", str(layer.descriptor), layer.path]
        case Kind.EMPTY:
            return ["--perms", "555", "--tmpfs", layer.path]
