"""The key is created once, kept, and readable only by its user."""

from pathlib import Path

import pytest

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.access.server_secrets import KEY_FILE, own_token, server_key, token_path
from codex_mcp.base.errors import Refused


def test_a_restarted_server_has_the_same_key(tmp_path: Path) -> None:
    key = server_key(str(tmp_path))
    assert len(key) == KEY_BYTES
    assert server_key(str(tmp_path)) == key


def test_another_home_has_another(tmp_path: Path) -> None:
    assert server_key(str(tmp_path / "a")) != server_key(str(tmp_path / "b"))


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    server_key(str(tmp_path))
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0
    assert (tmp_path / KEY_FILE).parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("broken", [b"", b"short", b"x" * (KEY_BYTES + 1)])
def test_a_file_that_holds_no_key_is_replaced(tmp_path: Path, broken: bytes) -> None:
    server_key(str(tmp_path))
    (tmp_path / KEY_FILE).write_bytes(broken)
    key = server_key(str(tmp_path))
    assert len(key) == KEY_BYTES
    assert (tmp_path / KEY_FILE).read_bytes() == key


def test_a_home_that_takes_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).parent.write_text("in the way")
    with pytest.raises(Refused, match=r"cannot store the server's key in .*server\.key: .*; correct it, or"):
        server_key(str(tmp_path))


def test_the_token_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    token = own_token(str(tmp_path))
    assert (own_token(str(tmp_path)), len(token) >= 32) == (token, True)
    path = Path(token_path(str(tmp_path)))
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    own_token(str(tmp_path))
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_empty_token_file_gets_a_new_one(tmp_path: Path) -> None:
    own_token(str(tmp_path))
    Path(token_path(str(tmp_path))).write_text("")
    assert len(own_token(str(tmp_path))) >= 32


def test_a_folder_in_place_of_the_token_is_told(tmp_path: Path) -> None:
    Path(token_path(str(tmp_path))).mkdir(parents=True)
    with pytest.raises(Refused, match="cannot store the server's token"):
        own_token(str(tmp_path))
