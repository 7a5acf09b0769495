"""Pure. What a `sandbox` object allows, in plain paths: which may be read, written, or not be seen at all.

    permissions                          files              network
    -----------------------------------  -----------------  -------------
    disabled                             all                yes
    external                             all                as it says
    managed, unrestricted                all                as it says
    managed, restricted                  what entries say   as it says
    readOnly (older word)                read all           no
    workspaceWrite (older word)          read all, write    as it says
                                         project and temp

What we cannot keep is refused here, before anything runs: an entry that grants by a pattern, or that hides a place that
nobody knows. A place that would be *granted* and that nobody knows is just not granted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from codex_mcp.base.file_uris import BadPath, path_from_uri
from codex_mcp.execserver.sandbox.globs import BadPattern, compile_glob
from codex_mcp.wire.exec.sandbox import (
    Access,
    Disabled,
    Entry,
    External,
    GlobEntry,
    Managed,
    Network,
    PathEntry,
    ReadOnly,
    RestrictedFiles,
    Sandbox,
    Special,
    SpecialKind,
    WorkspaceWrite,
)

MINIMAL: Final = ("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr")
"""What programs need to run at all."""

SHARED_TEMP: Final = "/" + "tmp"


class CannotEnforce(Exception):
    """This cannot be kept here; the text says why."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What may be done at a path and below it, until a longer path says otherwise."""

    path: str
    access: Access
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class HiddenPattern:
    """What matches below a folder cannot be seen."""

    folder: str
    pattern: str
    depth: int | None = None
    """How many folders deep to look for it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is allowed. Without grants there is no limit on files."""

    has_network: bool
    grants: tuple[Grant, ...] | None = None
    hidden: tuple[HiddenPattern, ...] = ()

    @property
    def is_free(self) -> bool:
        """Nothing is limited."""
        return self.has_network and self.grants is None

    @property
    def reads_all(self) -> bool:
        """Every file may be read."""
        if self.grants is None:
            return True
        is_hidden = bool(self.hidden) or any(grant.access is Access.DENY for grant in self.grants)
        return not is_hidden and any(grant.path == "/" for grant in self.grants)


@dataclass(frozen=True, slots=True)
class Places:
    """What the named places mean."""

    roots: tuple[str, ...]
    cwd: str | None
    temporary: tuple[str, ...]


def policy_of(sandbox: Sandbox, temporary: Sequence[str]) -> Policy:
    """The policy of a request. `temporary` is what `tmpdir` means. Raises CannotEnforce."""
    match sandbox.permissions:
        case Disabled():
            return Policy(has_network=True)
        case External(network):
            return Policy(network is Network.ENABLED)
        case ReadOnly():
            return Policy(has_network=False, grants=(Grant("/", Access.READ),))
        case WorkspaceWrite() as rules:
            return _workspace(rules, _places(sandbox, temporary))
        case Managed(RestrictedFiles(entries, depth), network):
            places = _places(sandbox, temporary)
            grants = tuple(grant for entry in entries for grant in _grants(entry, places))
            hidden = tuple(one for entry in entries for one in _patterns(entry, depth, places))
            return Policy(network is Network.ENABLED, grants, hidden)
        case Managed(_, network):
            return Policy(network is Network.ENABLED)


def _workspace(rules: WorkspaceWrite, places: Places) -> Policy:
    writable = [*(places.roots or _folders(places)), *(_native(root) for root in rules.writable_roots)]
    temporary = (*places.temporary, SHARED_TEMP)
    grants = (
        Grant("/", Access.READ),
        *(Grant(path, Access.WRITE) for path in writable),
        *(Grant(path, Access.WRITE, is_temporary=True) for path in temporary),
    )
    return Policy(rules.network_access, grants)


def _places(sandbox: Sandbox, temporary: Sequence[str]) -> Places:
    context = sandbox.policy_context
    roots = context.workspace_roots if context is not None else sandbox.workspace_roots or ()
    cwd = (context.cwd if context is not None else None) or sandbox.cwd
    return Places(
        tuple(_native(root) for root in roots),
        _native(cwd) if cwd is not None else None,
        tuple(temporary),
    )


def _folders(places: Places) -> tuple[str, ...]:
    """Where relative patterns count from: every root, or the working directory if there is none."""
    if places.roots:
        return places.roots
    if places.cwd is None:
        raise CannotEnforce("file system sandbox context with dynamic permissions requires cwd")
    return (places.cwd,)


def _roots(places: Places) -> tuple[str, ...]:
    """The project's folders. None are granted by default: the client names them."""
    if not places.roots and places.cwd is None:
        raise CannotEnforce("file system sandbox context with dynamic permissions requires cwd")
    return places.roots


def _native(uri: str) -> str:
    try:
        return path_from_uri(uri).rstrip("/") or "/"
    except BadPath as exc:
        raise CannotEnforce(str(exc)) from None


def _grants(entry: Entry, places: Places) -> Iterator[Grant]:
    access = Access.DENY if entry.access is Access.NONE else entry.access
    match entry.path:
        case PathEntry(path):
            yield Grant(_native(path), access)
        case GlobEntry(pattern):
            if access is not Access.DENY:
                raise CannotEnforce(f"sandbox intent cannot be enforced on this executor: pattern {pattern!r}")
        case _:
            yield from _special(entry.path.value, access, places)


def _patterns(entry: Entry, depth: int | None, places: Places) -> Iterator[HiddenPattern]:
    """The patterns of an entry; a relative one is meant in every root."""
    if not isinstance(entry.path, GlobEntry):
        return
    pattern = entry.path.pattern
    try:
        compile_glob(pattern)
    except BadPattern as exc:
        text = f"sandbox intent cannot be enforced on this executor: pattern {pattern!r}: {exc}"
        raise CannotEnforce(text) from None
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in pattern or not parts:
        raise CannotEnforce(f"sandbox intent cannot be enforced on this executor: pattern {pattern!r}")
    for folder in ["/"] if pattern.startswith("/") else _folders(places):
        yield HiddenPattern(folder, "/".join(parts), depth)


def _special(place: Special, access: Access, places: Places) -> Iterator[Grant]:
    is_temporary = place.kind in (SpecialKind.TMPDIR, SpecialKind.SLASH_TMP)
    match place.kind:
        case SpecialKind.ROOT:
            paths: tuple[str, ...] = ("/",)
        case SpecialKind.MINIMAL:
            paths = MINIMAL
        case SpecialKind.PROJECT_ROOTS | SpecialKind.CURRENT_WORKING_DIRECTORY:
            paths = _folders(places) if access is Access.DENY else _roots(places)
        case SpecialKind.TMPDIR:
            paths = places.temporary
        case SpecialKind.SLASH_TMP:
            paths = (SHARED_TEMP,)
        case SpecialKind.UNKNOWN:
            if access is Access.DENY:
                raise CannotEnforce(f"sandbox intent cannot be enforced on this executor: place {place.path!r}")
            return
    for path in paths:
        yield Grant(_below(path, place.subpath), access, is_temporary)


def _below(path: str, subpath: str | None) -> str:
    if subpath is None:
        return path
    parts = [part for part in subpath.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in subpath:
        raise CannotEnforce(f"sandbox intent cannot be enforced on this executor: subpath {subpath!r}")
    return "/".join([path.rstrip("/"), *parts]) or "/"
