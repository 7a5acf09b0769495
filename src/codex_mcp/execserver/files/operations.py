"""The work of the file requests. Called in the server, in its threads and in the confined helper process. Raises
OSError, or RequestFailed for what is not an error of the operating system."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from codex_mcp.base.disk.trees import remove_tree
from codex_mcp.base.file_uris import BadPath, ForeignPath, path_from_uri, uri_from_path
from codex_mcp.base.files import open_without_links
from codex_mcp.execserver.errors import internal_error, invalid_params, invalid_request
from codex_mcp.execserver.files.trees import NotAFile, SameFile, copy_content, copy_tree, make_folders
from codex_mcp.execserver.files.walk import walk
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.base64 import BadBase64, decode_base64
from codex_mcp.wire.exec.protocol import Empty

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
"""The largest file for `fs/readFile`; larger files are read in blocks."""

MAX_ENTRIES: Final = 50_000
"""Entries of a directory in one answer."""

READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""Non-blocking, because opening a named pipe would wait for a writer."""

WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK

NEW_FILE_MODE: Final = 0o666


def native(uri: str) -> str:
    """The path of a request. Raises RequestFailed."""
    try:
        return path_from_uri(uri)
    except ForeignPath as exc:
        raise invalid_request(str(exc)) from None
    except BadPath as exc:
        raise invalid_params(str(exc)) from None


@contextmanager
def _parent(path: str, *, follow: bool) -> Iterator[tuple[str, int | None]]:
    """A name and the folder that contains it. Without `follow`, the folder's path must contain no symbolic link."""
    if follow:
        yield path, None
        return
    above, name = os.path.split(path)
    folder = open_without_links(above)
    try:
        yield name or ".", folder
    finally:
        os.close(folder)


def _refuse_special(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise invalid_request(f"path `{path}` is not a file")


def open_to_read(path: str, *, follow: bool = True) -> int:
    """A descriptor of a regular file. Checked before it is opened, because opening a device can have effects."""
    with _parent(path, follow=follow) as (name, folder):
        found = os.stat(name, dir_fd=folder, follow_symlinks=follow)
        if not stat.S_ISLNK(found.st_mode):
            _refuse_special(path, found.st_mode)
        fd = os.open(name, READ | (0 if follow else os.O_NOFOLLOW), dir_fd=folder)
    try:
        _refuse_special(path, os.fstat(fd).st_mode)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_to_write(path: str, *, follow: bool = True) -> int:
    """A descriptor of a new or emptied regular file."""
    with _parent(path, follow=follow) as (name, folder):
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=follow)
            if not stat.S_ISLNK(found.st_mode) and not stat.S_ISDIR(found.st_mode):
                _refuse_special(path, found.st_mode)
        flags = WRITE | (0 if follow else os.O_NOFOLLOW)
        return os.open(name, flags, NEW_FILE_MODE, dir_fd=folder)


def read_file(asked: fs.ReadFile) -> fs.FileRead:
    path = native(asked.path)
    with open(open_to_read(path, follow=asked.follow_symlinks is not False), "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
            raise invalid_request(f"path `{path}` is larger than {MAX_FILE_BYTES} bytes; read it in blocks")
        # Files in /proc have size 0 but content; none may exceed the limit.
        data = file.read(MAX_FILE_BYTES + 1) if os.fstat(file.fileno()).st_size == 0 else file.readall()
    return fs.FileRead(data or b"")


def write_file(asked: fs.WriteFile) -> Empty:
    try:
        data = decode_base64(asked.data_base64)
    except BadBase64 as exc:
        raise invalid_request(f"fs/writeFile requires valid base64 dataBase64: {exc}") from None
    with open(open_to_write(native(asked.path), follow=asked.follow_symlinks is not False), "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
    return Empty()


def create_directory(asked: fs.CreateDirectory) -> Empty:
    path, follow = native(asked.path), asked.follow_symlinks is not False
    if asked.recursive is False:
        with _parent(path, follow=follow) as (name, folder):
            os.mkdir(name, dir_fd=folder)
    elif follow:
        make_folders(path)
    else:
        os.close(open_without_links(path, create=True))
    return Empty()


def get_metadata(asked: fs.GetMetadata) -> fs.Metadata:
    path = native(asked.path)
    if asked.follow_symlinks is False:
        with _parent(path, follow=False) as (name, folder):
            found = own = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(own.st_mode):
            raise invalid_request("path contains a symbolic link")
    else:
        own = os.lstat(path)
        found = os.stat(path) if stat.S_ISLNK(own.st_mode) else own
    return fs.Metadata(
        is_directory=stat.S_ISDIR(found.st_mode),
        is_file=stat.S_ISREG(found.st_mode),
        is_symlink=stat.S_ISLNK(own.st_mode),
        size=found.st_size,
        created_at_ms=0,  # not available in Python on Linux; the real server sends 0 as well
        modified_at_ms=max(0, found.st_mtime_ns // 1_000_000),
    )


def canonicalize(asked: fs.Canonicalize) -> fs.CanonicalPath:
    return fs.CanonicalPath(uri_from_path(os.path.realpath(native(asked.path), strict=True)))


def read_directory(asked: fs.ReadDirectory) -> fs.DirectoryRead:
    entries: list[fs.DirectoryEntry] = []
    with os.scandir(native(asked.path)) as found:
        for entry in found:
            if len(entries) >= MAX_ENTRIES:
                raise internal_error(f"directory has more than {MAX_ENTRIES} entries")
            if entry.is_symlink() and not os.path.exists(entry.path):
                continue
            name = os.fsencode(entry.name).decode(errors="replace")
            entries.append(fs.DirectoryEntry(name, entry.is_dir(), entry.is_file()))
    return fs.DirectoryRead(entries)


def walk_directory(asked: fs.Walk) -> fs.Walked:
    return walk(native(asked.path), asked.options)


def remove(asked: fs.Remove) -> Empty:
    path = native(asked.path)
    if asked.follow_symlinks is False and asked.recursive is not False:
        raise internal_error("recursive no-follow removal is unsupported")
    try:
        with _parent(path, follow=asked.follow_symlinks is not False) as (name, folder):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if asked.follow_symlinks is False and stat.S_ISLNK(mode):
                raise invalid_request("path contains a symbolic link")
            if not stat.S_ISDIR(mode):
                os.unlink(name, dir_fd=folder)
            elif asked.recursive is False:
                os.rmdir(name, dir_fd=folder)
            else:
                remove_tree(path)
    except FileNotFoundError:
        if asked.force is False:
            raise
    return Empty()


def copy(asked: fs.Copy) -> Empty:
    source, target = native(asked.source_path), native(asked.destination_path)
    mode = os.lstat(source).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(mode):
        with _refusals(target):
            copy_content(open_to_read(source), target)
    elif not stat.S_ISDIR(mode):
        raise invalid_request("fs/copy only supports regular files, directories, and symlinks")
    elif not asked.recursive:
        raise invalid_request("fs/copy requires recursive: true when sourcePath is a directory")
    else:
        _copy_folder(source, target)
    return Empty()


@contextmanager
def _refusals(target: str) -> Iterator[None]:
    try:
        yield
    except SameFile:
        raise invalid_request("fs/copy cannot copy a file to itself") from None
    except NotAFile:
        raise invalid_request(
            f"fs/copy cannot copy to `{target}`: a pipe, a socket or a device is in the way"
        ) from None


def _copy_folder(source: str, target: str) -> None:
    inner, outer = os.path.realpath(target), os.path.realpath(source)
    if inner == outer or inner.startswith(outer.rstrip("/") + "/"):
        raise invalid_request("fs/copy cannot copy a directory to itself or one of its descendants")
    make_folders(target)
    with _refusals(target):
        copy_tree(source, target)


OPERATIONS: Final[dict[type, Callable[[Any], object]]] = {
    fs.ReadFile: read_file,
    fs.WriteFile: write_file,
    fs.CreateDirectory: create_directory,
    fs.GetMetadata: get_metadata,
    fs.Canonicalize: canonicalize,
    fs.ReadDirectory: read_directory,
    fs.Walk: walk_directory,
    fs.Remove: remove,
    fs.Copy: copy,
}
"""By the type of the request, whose name the helper process is sent."""
