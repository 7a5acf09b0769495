"""Thread owners survive the server, and the first owner stays."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.base.principals import LOCAL
from codex_mcp.state.contract import Owners, Unavailable
from codex_mcp.state.embedded.owners import DATABASE, EmbeddedOwners


@contextlib.asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Owners]:
    owners = EmbeddedOwners(str(home))
    await owners.open()
    try:
        yield owners
    finally:
        await owners.aclose()


async def test_owners_survive_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as before:
        await before.record("t1", "ada")
        await before.record("t2", "bob")
    async with opened(tmp_path) as after:
        assert [await after.owner(thread) for thread in ("t1", "t2", "t3")] == ["ada", "bob", LOCAL]


async def test_the_first_owner_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as another:
        await one.record("t", "ada")
        await another.record("t", "bob")
        await another.record("t", LOCAL)
        assert await one.owner("t") == await another.owner("t") == "ada"


async def test_names_are_data_and_not_commands(tmp_path: Path) -> None:
    odd = "'; DROP TABLE owners; --"
    async with opened(tmp_path) as owners:
        await owners.record(odd, odd)
        assert await owners.owner(odd) == odd


async def test_the_folder_and_the_file_are_private(tmp_path: Path) -> None:
    async with opened(tmp_path):
        path = tmp_path / DATABASE
        assert (path.parent.stat().st_mode & 0o077, path.stat().st_mode & 0o077) == (0, 0)


async def test_closed_owners_are_unavailable(tmp_path: Path) -> None:
    async with opened(tmp_path) as owners:
        await owners.aclose()
        with pytest.raises(Unavailable, match="closed"):
            await owners.owner("t")


@pytest.mark.parametrize("broken", ["no database", "a folder", "in a file"])
async def test_a_database_that_cannot_be_read_is_named(tmp_path: Path, broken: str) -> None:
    home = tmp_path / "{home}"  # a name that a template would take for a field
    home.mkdir()
    path = home / DATABASE
    match broken:
        case "no database":
            path.parent.mkdir()
            path.write_bytes(b"no database" * 1000)
        case "a folder":
            path.mkdir(parents=True)
        case _:
            path.parent.write_text("in the way")
    with pytest.raises(Unavailable, match=r"cannot read thread owners in .*owners\.db: .*; repair or restore the file"):
        await EmbeddedOwners(str(home)).open()
