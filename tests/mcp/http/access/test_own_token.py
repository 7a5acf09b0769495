"""A server's own token."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.groups import Settings
from codex_mcp.mcp.http.access.gate import Admitted, Rejected
from codex_mcp.mcp.http.access.own_token import own_token, token_path
from codex_mcp.mcp.http.access.token_checks import Doorkeeper
from tests.mcp.http.access.test_token_checks import HOST, ONE, bearer, token_file


def test_it_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    token = own_token(str(tmp_path))
    assert (own_token(str(tmp_path)), len(token) >= 32) == (token, True)
    path = Path(token_path(str(tmp_path)))
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    own_token(str(tmp_path))
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_empty_gets_a_new_one(tmp_path: Path) -> None:
    own_token(str(tmp_path))
    Path(token_path(str(tmp_path))).write_text("")
    assert len(own_token(str(tmp_path))) >= 32


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    Path(token_path(str(tmp_path))).mkdir(parents=True)
    with pytest.raises(Refused, match="cannot keep the server's token"):
        own_token(str(tmp_path))


def test_only_who_shows_it_comes_in_as_the_user_of_this_machine(tmp_path: Path) -> None:
    keeper = Doorkeeper(Settings(codex_home=str(tmp_path), generate_token=True))
    assert not keeper.open_to_all
    assert keeper.admit(bearer(own_token(str(tmp_path)))) == Admitted("local")
    for headers in (HOST, bearer("guess")):
        assert isinstance(keeper.admit(headers), Rejected)


def test_it_goes_together_with_a_file_of_tokens(tmp_path: Path) -> None:
    tokens = token_file(tmp_path, f"ada {ONE}")
    keeper = Doorkeeper(Settings(codex_home=str(tmp_path), generate_token=True, tokens=tokens))
    assert keeper.admit(bearer(own_token(str(tmp_path)))) == Admitted("local")
    assert keeper.admit(bearer(ONE)) == Admitted("ada")
