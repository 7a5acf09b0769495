"""Pure. The file requests (`fs/*`) of the exec-server. Paths are file: URIs; a native absolute path is accepted too."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from codex_mcp.wire.exec.sandbox import Sandbox


class ReadFile(Struct, frozen=True, rename="camel", omit_defaults=True):
    path: str
    follow_symlinks: bool | None = None
    sandbox: Sandbox | None = None


class FileRead(Struct, frozen=True, rename="camel"):
    data_base64: bytes


class WriteFile(Struct, frozen=True, rename="camel", omit_defaults=True):
    path: str
    data_base64: str
    follow_symlinks: bool | None = None
    sandbox: Sandbox | None = None


class OpenMode(StrEnum):
    READ = "read"
    REPLACE = "replace"


class OpenFile(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`fs/open` for reading or writing in blocks. The client chooses the handle."""

    handle_id: str
    path: str
    mode: OpenMode = OpenMode.READ
    sandbox: Sandbox | None = None


class FileOpened(Struct, frozen=True, rename="camel"):
    handle_id: str


class ReadBlock(Struct, frozen=True, rename="camel"):
    handle_id: str
    offset: int
    len: int


class BlockRead(Struct, frozen=True):
    """`eof`: there were fewer bytes than requested."""

    chunk: bytes
    eof: bool


class WriteBlock(Struct, frozen=True, rename="camel"):
    handle_id: str
    offset: int
    chunk: str


class CloseFile(Struct, frozen=True, rename="camel"):
    """An unknown handle is not an error."""

    handle_id: str


class CreateDirectory(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`recursive` (create parents) defaults to true."""

    path: str
    recursive: bool | None = None
    follow_symlinks: bool | None = None
    sandbox: Sandbox | None = None


class GetMetadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    path: str
    follow_symlinks: bool | None = None
    sandbox: Sandbox | None = None


class Metadata(Struct, frozen=True, rename="camel"):
    """Describes the target of a link, except for `is_symlink`."""

    is_directory: bool
    is_file: bool
    is_symlink: bool
    size: int
    created_at_ms: int
    modified_at_ms: int


class Canonicalize(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Resolves all symbolic links."""

    path: str
    sandbox: Sandbox | None = None


class CanonicalPath(Struct, frozen=True):
    path: str


class ReadDirectory(Struct, frozen=True, rename="camel", omit_defaults=True):
    path: str
    sandbox: Sandbox | None = None


class DirectoryEntry(Struct, frozen=True, rename="camel"):
    """A name in a directory; links are followed, and broken ones omitted."""

    file_name: str
    is_directory: bool
    is_file: bool


class DirectoryRead(Struct, frozen=True):
    """The entries are unordered."""

    entries: list[DirectoryEntry]


class WalkOptions(Struct, frozen=True, rename="camel", omit_defaults=True):
    max_depth: int
    max_directories: int
    max_entries: int
    follow_directory_symlinks: bool
    prune_hidden_directories: bool = False


class Walk(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Everything below a directory, breadth first, names sorted."""

    path: str
    options: WalkOptions
    sandbox: Sandbox | None = None


class WalkKind(StrEnum):
    DIRECTORY = "directory"
    FILE = "file"


class WalkEntry(Struct, frozen=True):
    path: str
    kind: WalkKind


class WalkError(Struct, frozen=True):
    """A path that a walk could not read."""

    path: str
    message: str


class Walked(Struct, frozen=True):
    entries: list[WalkEntry]
    errors: list[WalkError]
    truncated: bool


class Remove(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`recursive` and `force` (ignore a missing path) default to true."""

    path: str
    recursive: bool | None = None
    force: bool | None = None
    follow_symlinks: bool | None = None
    sandbox: Sandbox | None = None


class Copy(Struct, frozen=True, rename="camel", omit_defaults=True):
    source_path: str
    destination_path: str
    recursive: bool
    sandbox: Sandbox | None = None


class WatchMissing(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Asks for one notification when one of these paths exists, or `present` is gone."""

    watch_id: int
    missing: list[str]
    present: str | None = None


class Watching(Struct, frozen=True):
    watching: bool


class MissingChanged(Struct, frozen=True, rename="camel"):
    watch_id: int
