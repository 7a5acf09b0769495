"""Who may come in, by files that change and by tokens that somebody signed."""

import os
import time
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings import Settings
from codex_mcp.mcp.doorkeeper import LOOK_INTERVAL, Doorkeeper
from codex_mcp.mcp.gate import Admitted, Rejected
from codex_mcp.threads.owners import LOCAL

TOKEN = "a-token-that-is-long-enough"
HERE = {"host": "127.0.0.1:3333"}
ISSUER, AUDIENCE = "https://issuer.example", "https://codex.example/mcp"
KEY = ec.generate_private_key(ec.SECP256R1())


def settings(tmp_path: Path, **given: Any) -> Settings:
    return Settings(codex_home=str(tmp_path), **given)


def bearer(token: str) -> dict[str, str]:
    return {**HERE, "authorization": f"Bearer {token}"}


def key_file(tmp_path: Path) -> str:
    public = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256).to_jwk(KEY.public_key(), as_dict=True)
    path = tmp_path / "keys.json"
    path.write_bytes(msgspec.json.encode({"keys": [{**public, "kid": "one", "alg": "ES256"}]}))
    return str(path)


def signed(**changes: object) -> str:
    now = int(time.time())
    claims: dict[str, object] = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "exp": now + 600, **changes}
    return jwt.encode(
        {k: v for k, v in claims.items() if v is not None}, KEY, algorithm="ES256", headers={"kid": "one"}
    )


def test_without_tokens_everybody_on_this_machine_is_local(tmp_path: Path) -> None:
    keeper = Doorkeeper(settings(tmp_path))
    assert keeper.open_to_all
    assert keeper.admit(HERE) == Admitted(LOCAL)


def test_a_token_of_the_file_opens_and_any_other_does_not(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"alice {TOKEN}\n")
    keeper = Doorkeeper(settings(tmp_path, tokens=str(tmp_path / "tokens")))

    assert not keeper.open_to_all
    assert keeper.admit(bearer(TOKEN)) == Admitted("alice")
    for headers in (HERE, bearer("wrong"), bearer(""), {**HERE, "authorization": f"Basic {TOKEN}"}):
        refused = keeper.admit(headers)
        assert isinstance(refused, Rejected)
        assert refused.status == 401


def test_a_file_that_changes_is_read_again_and_a_broken_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"alice {TOKEN}\n")
    keeper = Doorkeeper(settings(tmp_path, tokens=str(path)))
    now = time.monotonic()
    later = iter(now + LOOK_INTERVAL * step for step in range(1, 10))
    monkeypatch.setattr(time, "monotonic", lambda: next(later))

    path.write_text("alice")
    assert keeper.admit(bearer(TOKEN)) == Admitted("alice")
    path.write_text(f"bob {TOKEN}-of-bob\n")
    os.utime(path, (1, 1))
    assert keeper.admit(bearer(f"{TOKEN}-of-bob")) == Admitted("bob")
    assert isinstance(keeper.admit(bearer(TOKEN)), Rejected)
    path.unlink()
    assert keeper.admit(bearer(f"{TOKEN}-of-bob")) == Admitted("bob")


@pytest.mark.parametrize("text", [None, "alice", "\xff"])
def test_a_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "tokens"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadSetting, match="cannot use the token file"):
        Doorkeeper(settings(tmp_path, tokens=str(path)))


def jwt_keeper(tmp_path: Path, **more: Any) -> Doorkeeper:
    return Doorkeeper(settings(tmp_path, jwks=key_file(tmp_path), jwt_issuer=ISSUER, jwt_audience=AUDIENCE, **more))


def test_a_signed_token_names_its_principal(tmp_path: Path) -> None:
    keeper = jwt_keeper(tmp_path)
    assert keeper.admit(bearer(signed())) == Admitted("alice")
    assert keeper.authorization_servers == [ISSUER]
    assert not keeper.open_to_all


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"sub": "../alice"},
        {"iss": "https://somebody.example"},
        {"aud": "https://elsewhere.example"},
    ],
)
def test_a_signed_token_that_is_not_for_us_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    refused = jwt_keeper(tmp_path).admit(bearer(signed(**changes)))
    assert refused == Rejected(401, "Unauthorized: this token is not valid here")


def test_a_token_that_nobody_signed_or_another_key_did_is_refused(tmp_path: Path) -> None:
    keeper = jwt_keeper(tmp_path)
    stranger = ec.generate_private_key(ec.SECP256R1())
    claims = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 600}
    forged = jwt.encode(claims, stranger, algorithm="ES256", headers={"kid": "one"})
    unknown = jwt.encode(claims, KEY, algorithm="ES256", headers={"kid": "two"})
    unsigned = jwt.encode(claims, "", algorithm="none", headers={"kid": "one"})
    for token in (forged, unknown, unsigned, "a.b.c", "plain"):
        assert isinstance(keeper.admit(bearer(token)), Rejected)
    assert isinstance(keeper.admit(HERE), Rejected)
    assert isinstance(keeper.admit({"host": "evil.example", "authorization": f"Bearer {signed()}"}), Rejected)


def test_plain_and_signed_tokens_go_together(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"bob {TOKEN}\n")
    keeper = jwt_keeper(tmp_path, tokens=str(tmp_path / "tokens"))
    assert keeper.admit(bearer(TOKEN)) == Admitted("bob")
    assert keeper.admit(bearer(signed())) == Admitted("alice")


@pytest.mark.parametrize("text", ["", "{}", '{"keys": []}', "not json"])
def test_a_key_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(BadSetting, match="cannot use the key file"):
        Doorkeeper(settings(tmp_path, jwks=str(tmp_path / "keys.json")))
