"""Identities: made for one process, or kept in a private file."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.relay.handshake import Responder
from codex_mcp.relay.identity import fresh, kept_keys, new_keys
from codex_mcp.relay.keys import PrivateKeys
from tests.support.relay import PLACE, first_message, private_keys


def test_new_keys_are_new() -> None:
    assert new_keys().public != new_keys().public


def test_kept_keys_stay_the_same_and_private(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    kept = kept_keys(str(path))
    assert kept_keys(str(path)).public == kept.public
    assert path.stat().st_mode & 0o777 == 0o600
    assert PrivateKeys(path.read_bytes()).public == kept.public


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    path.write_text("not a key")
    with pytest.raises(Refused, match="not an identity file"):
        kept_keys(str(path))
    with pytest.raises(Refused, match="cannot keep the identity"):
        kept_keys(str(tmp_path / "missing" / "identity"))


def test_an_executor_draws_what_it_needs_for_an_answer() -> None:
    initiator, first = first_message()
    responder = Responder(private_keys("executor"), PLACE)
    second, executor = responder.answer(fresh(responder, responder.read(first)))
    assert executor.receiving.decrypt(initiator.finish(second).sending.encrypt(b"x")) == b"x"
