"""Pure. The bubblewrap arguments that enforce a policy, once it is known which paths exist.

Shorter paths are mounted first, so that the narrower rule wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

KERNEL_SETTINGS: Final = tuple(
    f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "tty")
)
"""Parts of /proc that configure the machine. The kernel checks only the owner of these files, so without this the
processes of a server that runs as root could write them."""


class MountKind(StrEnum):
    READ = "read"
    WRITE = "write"
    HIDDEN_FOLDER = "hidden folder"
    HIDDEN_FILE = "hidden file"
    EMPTY = "empty"
    """An empty folder at a name that must not be created."""


class Layer(Struct, frozen=True):
    """One mount. Its source is an open descriptor, so that it cannot be replaced in between; for a hidden file, one
    without content."""

    path: str
    kind: MountKind
    descriptor: int = -1


class View(Struct, frozen=True):
    has_network: bool
    base: MountKind | None
    """How the root of the file system is mounted; None shows only the layers."""
    layers: Sequence[Layer] = ()
    seccomp: int = -1
    """The descriptor of the system call filter."""
    is_dev_writable: bool = True
    """Files can be created in the view's own /dev, as shared memory needs."""


class Command(Struct, frozen=True):
    cwd: str
    env: Mapping[str, str] = {}
    arg0: str | None = None


def arguments(view: View, command: Command) -> list[str]:
    """The options; the command follows after a `--`. They include the environment: bubblewrap itself runs without one,
    because a preloaded library would run before the limits apply."""
    words = ["--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    if not view.has_network:
        words.append("--unshare-net")
    words += _root(view)
    layers = sorted(view.layers, key=lambda layer: layer.path.count("/"))
    for layer in layers:
        words += _mount(layer, has_inner=any(other.path.startswith(layer.path + "/") for other in layers))
    for layer in layers:
        if layer.kind in (MountKind.HIDDEN_FOLDER, MountKind.EMPTY):
            # Last, because mount points for what is granted inside a hidden folder must be created there first.
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
    if view.base is MountKind.WRITE:
        return ["--dev-bind", "/", "/", "--proc", "/proc"]
    words = ["--tmpfs", "/"] if view.base is None else ["--ro-bind", "/", "/"]
    words += ["--dev", "/dev", *([] if view.is_dev_writable else ["--remount-ro", "/dev"]), "--proc", "/proc"]
    for path in KERNEL_SETTINGS:
        words += ["--ro-bind-try", path, path]
    return words


def _mount(layer: Layer, *, has_inner: bool) -> Iterable[str]:
    match layer.kind:
        case MountKind.READ:
            return ["--ro-bind-fd", str(layer.descriptor), layer.path]
        case MountKind.WRITE:
            return ["--bind-fd", str(layer.descriptor), layer.path]
        case MountKind.HIDDEN_FOLDER:
            # With something granted inside, it can be traversed but not listed.
            return ["--perms", "111" if has_inner else "000", "--tmpfs", layer.path]
        case MountKind.HIDDEN_FILE:
            return ["--perms", "000", "--ro-bind-data", str(layer.descriptor), layer.path]
        case MountKind.EMPTY:
            return ["--perms", "555", "--tmpfs", layer.path]
