"""Pure. The `sandbox` object of exec-server requests: what a process or a file request may access.

The outer object is camelCase and `permissions` inside it is snake_case, as in the real server. The older forms
`{"type": "readOnly"}` and `{"type": "workspaceWrite", …}` are accepted as permissions too.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct


class Access(StrEnum):
    """What an entry allows. `none` is the older form of `deny`."""

    READ = "read"
    WRITE = "write"
    DENY = "deny"
    NONE = "none"


class Network(StrEnum):
    RESTRICTED = "restricted"
    ENABLED = "enabled"


class PathEntry(Struct, frozen=True, tag="path", tag_field="type"):
    """One path, as a file: URI."""

    path: str


class GlobEntry(Struct, frozen=True, tag="glob_pattern", tag_field="type"):
    pattern: str


class SpecialKind(StrEnum):
    """Paths with a symbolic name."""

    ROOT = "root"
    MINIMAL = "minimal"
    PROJECT_ROOTS = "project_roots"
    CURRENT_WORKING_DIRECTORY = "current_working_directory"
    TMPDIR = "tmpdir"
    SLASH_TMP = "slash_tmp"
    UNKNOWN = "unknown"


class Special(Struct, frozen=True, omit_defaults=True):
    """A path with a symbolic name, or a folder below it."""

    kind: SpecialKind
    path: str | None = None
    subpath: str | None = None


class SpecialEntry(Struct, frozen=True, tag="special", tag_field="type"):
    value: Special


EntryPath: TypeAlias = PathEntry | GlobEntry | SpecialEntry


class Entry(Struct, frozen=True, omit_defaults=True):
    """The access to a path. The narrower path wins."""

    path: EntryPath
    access: Access
    missing_path_behavior: str | None = None


class RestrictedFiles(Struct, frozen=True, tag="restricted", tag_field="type", omit_defaults=True):
    """Only what the entries allow."""

    entries: list[Entry]
    glob_scan_max_depth: int | None = None


class UnrestrictedFiles(Struct, frozen=True, tag="unrestricted", tag_field="type"):
    """All files."""


class Managed(Struct, frozen=True, tag="managed", tag_field="type"):
    """The server enforces the limits."""

    file_system: RestrictedFiles | UnrestrictedFiles
    network: Network


class Disabled(Struct, frozen=True, tag="disabled", tag_field="type"):
    """No limits."""


class External(Struct, frozen=True, tag="external", tag_field="type"):
    """Something outside the server enforces limits."""

    network: Network


class ReadOnly(Struct, frozen=True, tag="readOnly", tag_field="type"):
    """Older form: read everything, write nothing, no network."""


class WorkspaceWrite(Struct, frozen=True, tag="workspaceWrite", tag_field="type", rename="camel", omit_defaults=True):
    """Older form: read everything, write to the project and to temporary folders."""

    writable_roots: list[str] = []
    network_access: bool = False


Permissions: TypeAlias = Managed | Disabled | External | ReadOnly | WorkspaceWrite


class PolicyContext(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the symbolic names mean."""

    cwd: str | None = None
    workspace_roots: list[str] = []


class Sandbox(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`sandbox`. `windows_sandbox_level` is required, and ignored here."""

    permissions: Permissions
    windows_sandbox_level: str
    cwd: str | None = None
    workspace_roots: list[str] | None = None
    policy_context: PolicyContext | None = None
    user_home_dir: str | None = None
    temporary_directories: list[str] | None = None
    windows_sandbox_proxy_settings_mode: str | None = None
    use_legacy_landlock: bool = False
    sandbox_override: str | None = None
