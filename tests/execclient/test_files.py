"""All of fs/* on the real server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.base.file_uris import path_from_uri
from codex_mcp.execclient.errors import ExecServerError, NotOffered, OutcomeUnknown, PathNotFound, RequestRefused
from codex_mcp.execclient.files import BLOCK_BYTES, RemoteFiles, file_uri
from codex_mcp.wire.exec.files import DirectoryEntry, WalkEntry, WalkKind
from codex_mcp.wire.exec.sandbox import (
    Access,
    Entry,
    Managed,
    Network,
    RestrictedFiles,
    Sandbox,
    Special,
    SpecialEntry,
    SpecialKind,
)
from tests.support.exec.exec_server import connected

LARGE = bytes(range(256)) * (2 * BLOCK_BYTES // 256) + b"and some more"

READ_ONLY = Sandbox(
    Managed(RestrictedFiles([Entry(SpecialEntry(Special(SpecialKind.ROOT)), Access.READ)]), Network.RESTRICTED),
    windows_sandbox_level="disabled",
)


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def streamed(files: RemoteFiles, path: str) -> bytes:
    return await read_on(files.read_stream(path))


async def read_on(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([block async for block in stream])


async def test_a_file_is_written_described_copied_read_and_removed(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        files, here = setting.client.files, setting.folder
        await files.create_directory(f"{here}/a b/c")
        await files.write_file(f"{here}/a b/c/x", b"\0binary\xff")
        assert (here / "a b/c/x").read_bytes() == b"\0binary\xff"
        metadata = await files.get_metadata(f"{here}/a b/c/x")
        assert (metadata.is_file, metadata.is_directory, metadata.is_symlink, metadata.size) == (True, False, False, 8)
        await files.copy(f"{here}/a b", f"{here}/d", recursive=True)
        assert await files.read_file(f"{here}/d/c/x") == b"\0binary\xff"
        assert await files.read_file(file_uri(f"{here}/d/c/x")) == b"\0binary\xff"
        await files.remove(f"{here}/d")
        with pytest.raises(PathNotFound):
            await files.get_metadata(f"{here}/d")
        with pytest.raises(RequestRefused):
            await files.remove(f"{here}/d", force=False)


async def test_directories_are_listed_and_walked(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        files, here = setting.client.files, setting.folder / "tree"
        (here / "sub").mkdir(parents=True)
        (here / "sub/x").touch()
        (here / "link").symlink_to(here / "sub")
        entries = await files.read_directory(str(here))
        assert DirectoryEntry("sub", is_directory=True, is_file=False) in entries
        walked = await files.walk(str(here))
        assert WalkEntry(file_uri(f"{here}/sub/x"), WalkKind.FILE) in walked.entries
        assert not walked.truncated
        assert path_from_uri(await files.canonicalize(f"{here}/link/x")) == f"{here}/sub/x"


async def test_a_large_file_is_streamed_both_ways(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        path = f"{setting.folder}/large"
        assert await setting.client.files.write_stream(path, pieces(LARGE, 3 * BLOCK_BYTES // 2)) == len(LARGE)
        assert (setting.folder / "large").read_bytes() == LARGE
        assert await streamed(setting.client.files, path) == LARGE


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, 5 * BLOCK_BYTES])
async def test_a_stream_ends_where_the_file_ends(tmp_path: Path, size: int) -> None:
    async with connected(tmp_path) as setting:
        (setting.folder / "x").write_bytes(bytes(size))
        assert await streamed(setting.client.files, f"{setting.folder}/x") == bytes(size)


async def test_a_stream_that_is_left_early_gives_its_handle_back(tmp_path: Path) -> None:
    """The server lets a connection have 128 of them."""
    async with connected(tmp_path) as setting:
        (setting.folder / "x").write_bytes(LARGE)
        for _ in range(130):
            stream = setting.client.files.read_stream(f"{setting.folder}/x")
            assert await anext(stream) == LARGE[:BLOCK_BYTES]
            await stream.aclose()
        assert await streamed(setting.client.files, f"{setting.folder}/x") == LARGE


async def test_a_stream_ends_with_its_connection(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        (setting.folder / "x").write_bytes(bytes(20 * BLOCK_BYTES))
        stream = setting.client.files.read_stream(f"{setting.folder}/x")
        await anext(stream)
        setting.proxy.mute()
        setting.proxy.cut()
        with pytest.raises(OutcomeUnknown, match="read of"):
            await read_on(stream)
        assert len(await streamed(setting.client.files, f"{setting.folder}/x")) == 20 * BLOCK_BYTES


async def test_confined_files_are_read_but_not_written(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        (setting.folder / "x").write_bytes(b"x")
        files = setting.client.files.confined(READ_ONLY)
        assert await files.read_file(f"{setting.folder}/x") == b"x"
        with pytest.raises(RequestRefused, match="fs/writeFile"):
            await files.write_file(f"{setting.folder}/y", b"y")
        assert not (setting.folder / "y").exists()


async def test_a_missing_file_cannot_be_streamed(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        with pytest.raises(PathNotFound):
            await streamed(setting.client.files, f"{setting.folder}/none")


async def test_relative_paths_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        with pytest.raises(ExecServerError, match="relative"):
            await setting.client.files.read_file("here")


async def test_a_server_that_does_not_support_watches_is_not_asked(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        with pytest.raises(NotOffered, match="watch"):
            async with setting.client.files.watch_missing([f"{setting.folder}/later"]):
                pass


def test_a_path_becomes_a_uri_and_a_uri_stays_one() -> None:
    assert file_uri("/srv/a b/ü%.txt") == "file:///srv/a%20b/%C3%BC%25.txt"
    assert file_uri("file:///srv/x") == "file:///srv/x"


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(ExecServerError, match="relative"):
        file_uri("src/x")
