"""Pure. Translates a `sandbox` object into paths that can be read, can be written or are hidden.

    permissions                          files              network
    -----------------------------------  -----------------  -------------
    disabled                             all                yes
    external                             all                as it says
    managed, unrestricted                all                as it says
    managed, restricted                  as entries say     as it says
    readOnly (older form)                read all           no
    workspaceWrite (older form)          read all, write    as it says
                                         project and temp

What cannot be enforced is refused here, before anything runs: an entry that grants by a pattern, or that hides an
unknown special path. An unknown special path that would be *granted* is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.file_uris import BadPath, path_from_uri
from codex_mcp.execserver.sandbox.globs import BadPattern, compile_glob
from codex_mcp.wire.exec import sandbox as wire

MINIMAL: Final = ("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr")
"""What programs need to run at all."""

SHARED_TEMP: Final = "/" + "tmp"

REFUSAL: Final = "sandbox intent cannot be enforced on this executor"
"""The real server's text."""


class CannotEnforce(Exception):
    """The policy cannot be enforced here; the message says why."""


class Grant(Struct, frozen=True):
    """The access to a path and everything below it, unless there is a grant for a longer path."""

    path: str
    access: wire.Access
    is_temporary: bool = False


class HiddenPattern(Struct, frozen=True):
    """Matches below a folder are hidden."""

    folder: str
    pattern: str
    depth: int | None = None
    """How many folders deep to search."""


class Policy(Struct, frozen=True):
    """What is allowed. If `grants` is None, file access is not limited."""

    has_network: bool
    grants: tuple[Grant, ...] | None = None
    hidden: tuple[HiddenPattern, ...] = ()

    @property
    def is_free(self) -> bool:
        return self.has_network and self.grants is None

    @property
    def reads_all(self) -> bool:
        if self.grants is None:
            return True
        is_hidden = bool(self.hidden) or any(grant.access is wire.Access.DENY for grant in self.grants)
        return not is_hidden and any(grant.path == "/" for grant in self.grants)


class SpecialPaths(Struct, frozen=True):
    """What special paths such as `project_roots` and `tmpdir` mean."""

    roots: tuple[str, ...]
    cwd: str | None
    temporary: tuple[str, ...]


def policy_of(sandbox: wire.Sandbox, temporary: Sequence[str]) -> Policy:
    """The policy of a request. `temporary` are the folders for `tmpdir`. Raises CannotEnforce."""
    match sandbox.permissions:
        case wire.Disabled():
            return Policy(has_network=True)
        case wire.External(network):
            return Policy(network is wire.Network.ENABLED)
        case wire.ReadOnly():
            return Policy(has_network=False, grants=(Grant("/", wire.Access.READ),))
        case wire.WorkspaceWrite() as rules:
            return _workspace(rules, _places(sandbox, temporary))
        case wire.Managed(wire.RestrictedFiles(entries, depth), network):
            places = _places(sandbox, temporary)
            grants = tuple(grant for entry in entries for grant in _grants(entry, places))
            hidden = tuple(one for entry in entries for one in _patterns(entry, depth, places))
            return Policy(network is wire.Network.ENABLED, grants, hidden)
        case wire.Managed(_, network):
            return Policy(network is wire.Network.ENABLED)


def _workspace(rules: wire.WorkspaceWrite, places: SpecialPaths) -> Policy:
    writable = [*_folders(places), *(_native(root) for root in rules.writable_roots)]
    temporary = (*places.temporary, SHARED_TEMP)
    grants = (
        Grant("/", wire.Access.READ),
        *(Grant(path, wire.Access.WRITE) for path in writable),
        *(Grant(path, wire.Access.WRITE, is_temporary=True) for path in temporary),
    )
    return Policy(rules.network_access, grants)


def _places(sandbox: wire.Sandbox, temporary: Sequence[str]) -> SpecialPaths:
    context = sandbox.policy_context
    roots = context.workspace_roots if context is not None else sandbox.workspace_roots or ()
    cwd = (context.cwd if context is not None else None) or sandbox.cwd
    return SpecialPaths(
        tuple(_native(root) for root in roots),
        _native(cwd) if cwd is not None else None,
        tuple(temporary),
    )


def _folders(places: SpecialPaths) -> tuple[str, ...]:
    """Where relative patterns start: every project root, else the working directory."""
    if places.roots:
        return places.roots
    if places.cwd is None:
        raise CannotEnforce("file system sandbox context with dynamic permissions requires cwd")
    return (places.cwd,)


def _native(uri: str) -> str:
    try:
        return path_from_uri(uri).rstrip("/") or "/"
    except BadPath as exc:
        raise CannotEnforce(str(exc)) from None


def _grants(entry: wire.Entry, places: SpecialPaths) -> Iterator[Grant]:
    access = wire.Access.DENY if entry.access is wire.Access.NONE else entry.access
    match entry.path:
        case wire.PathEntry(path):
            yield Grant(_native(path), access)
        case wire.GlobEntry(pattern):
            if access is not wire.Access.DENY:
                raise CannotEnforce(f"{REFUSAL}: pattern {pattern!r}")
        case _:
            yield from _special(entry.path.value, access, places)


def _patterns(entry: wire.Entry, depth: int | None, places: SpecialPaths) -> Iterator[HiddenPattern]:
    """The patterns of an entry; a relative one applies to every root."""
    if not isinstance(entry.path, wire.GlobEntry):
        return
    pattern = entry.path.pattern
    try:
        compile_glob(pattern)
    except BadPattern as exc:
        raise CannotEnforce(f"{REFUSAL}: pattern {pattern!r}: {exc}") from None
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in pattern or not parts:
        raise CannotEnforce(f"{REFUSAL}: pattern {pattern!r}")
    folders = ["/"] if pattern.startswith("/") else _folders(places)
    for folder in folders:
        yield HiddenPattern(folder, "/".join(parts), depth)


def _special(place: wire.Special, access: wire.Access, places: SpecialPaths) -> Iterator[Grant]:
    is_temporary = place.kind in (wire.SpecialKind.TMPDIR, wire.SpecialKind.SLASH_TMP)
    match place.kind:
        case wire.SpecialKind.ROOT:
            paths: tuple[str, ...] = ("/",)
        case wire.SpecialKind.MINIMAL:
            paths = MINIMAL
        case wire.SpecialKind.PROJECT_ROOTS | wire.SpecialKind.CURRENT_WORKING_DIRECTORY:
            folders = _folders(places)
            # Only the roots that the client names are granted, not the working directory.
            paths = folders if access is wire.Access.DENY else places.roots
        case wire.SpecialKind.TMPDIR:
            paths = places.temporary
        case wire.SpecialKind.SLASH_TMP:
            paths = (SHARED_TEMP,)
        case wire.SpecialKind.UNKNOWN:
            if access is wire.Access.DENY:
                raise CannotEnforce(f"{REFUSAL}: place {place.path!r}")
            return
    for path in paths:
        yield Grant(_below(path, place.subpath), access, is_temporary)


def _below(path: str, subpath: str | None) -> str:
    if subpath is None:
        return path
    parts = [part for part in subpath.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in subpath:
        raise CannotEnforce(f"{REFUSAL}: subpath {subpath!r}")
    return "/".join([path.rstrip("/"), *parts]) or "/"
