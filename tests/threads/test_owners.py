"""Whose thread it is outlasts the server, and is decided once."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.threads.owners import DATABASE, LOCAL, EverybodyIsLocal, RecordedOwners


@contextlib.contextmanager
def owners(home: Path) -> Iterator[RecordedOwners]:
    opened = RecordedOwners(str(home))
    try:
        yield opened
    finally:
        opened.close()


def test_a_server_with_one_principal_has_nothing_to_remember() -> None:
    everybody = EverybodyIsLocal()
    everybody.record("t", "ada")
    assert everybody.owner("t") == LOCAL


def test_what_a_principal_started_is_its_own_also_after_a_restart(tmp_path: Path) -> None:
    with owners(tmp_path) as before:
        before.record("t1", "ada")
        before.record("t2", "bob")
    with owners(tmp_path) as after:
        assert [after.owner(thread) for thread in ("t1", "t2", "t3")] == ["ada", "bob", LOCAL]


def test_nobody_takes_over_what_has_an_owner(tmp_path: Path) -> None:
    with owners(tmp_path) as one, owners(tmp_path) as another:
        one.record("t", "ada")
        another.record("t", "bob")
        assert one.owner("t") == another.owner("t") == "ada"


def test_names_are_data_and_not_commands(tmp_path: Path) -> None:
    odd = "'; DROP TABLE owners; --"
    with owners(tmp_path) as opened:
        opened.record(odd, odd)
        assert opened.owner(odd) == odd


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    with owners(tmp_path):
        assert (tmp_path / DATABASE).parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("broken", ["no database", "a folder", "in a file"])
def test_a_database_that_cannot_be_read_is_told(tmp_path: Path, broken: str) -> None:
    path = tmp_path / DATABASE
    match broken:
        case "no database":
            path.parent.mkdir()
            path.write_bytes(b"no database" * 1000)
        case "a folder":
            path.mkdir(parents=True)
        case _:
            path.parent.write_text("in the way")
    with pytest.raises(Refused, match=r"cannot read whose thread is whose in .*owners\.db: "):
        RecordedOwners(str(tmp_path))
