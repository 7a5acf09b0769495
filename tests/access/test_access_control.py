"""Access by token files, which are read again when they change, and by signed tokens."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

from codex_mcp.access.access_control import CHECK_INTERVAL, AccessControl
from codex_mcp.access.gate import Admitted, Rejected
from codex_mcp.access.server_secrets import own_token
from codex_mcp.base.errors import BadSetting
from tests.support.settings import make_settings

HOST = {"host": "127.0.0.1"}
ONE, TWO = "one-" + "a" * 16, "two-" + "b" * 16
ISSUER, AUDIENCE = "https://sign.example", "codex"
KEY, OTHER_KEY = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
CLAIMS: Mapping[str, Any] = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 3600}


def bearer(token: str) -> dict[str, str]:
    return {**HOST, "authorization": f"Bearer {token}"}


def principal(access: AccessControl, token: str) -> str | int:
    """The principal, or the status of the refusal."""
    verdict = access.admit(bearer(token))
    return verdict.principal if isinstance(verdict, Admitted) else verdict.status


def token_file(folder: Path, text: str) -> str:
    path = folder / "tokens"
    path.write_text(text)
    return str(path)


def key_file(folder: Path, *, name: str | None = "k1") -> str:
    key = OKPAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
    path = folder / "jwks.json"
    path.write_text(str({"keys": [key | ({"kid": name} if name else {})]}).replace("'", '"'))
    return str(path)


def signed(key: Ed25519PrivateKey = KEY, kid: str = "k1", **changed: object) -> str:
    claims = {name: value for name, value in {**CLAIMS, **changed}.items() if value is not None}
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": kid})


def signed_access(folder: Path, **settings: Any) -> AccessControl:
    return AccessControl(
        make_settings(
            codex_home=str(folder), jwks=key_file(folder), jwt_issuer=ISSUER, jwt_audience=AUDIENCE, **settings
        ).http,
        make_settings(
            codex_home=str(folder), jwks=key_file(folder), jwt_issuer=ISSUER, jwt_audience=AUDIENCE, **settings
        ).core.codex_home,
    )


def test_without_files_everybody_comes_in_who_knows_our_name(tmp_path: Path) -> None:
    access = AccessControl(make_settings(allowed_hosts=("agents.example",)).http, str(tmp_path))
    assert access.open_to_all
    assert access.admit(HOST) == Admitted("local")
    assert access.admit({"host": "agents.example"}) == Admitted("local")
    assert isinstance(access.admit({"host": "evil.example"}), Rejected)
    assert access.authorization_servers == []


def test_with_tokens_each_principal_has_its_own(tmp_path: Path) -> None:
    access = AccessControl(make_settings(tokens=token_file(tmp_path, f"ada {ONE}\nbob {TWO}")).http, str(tmp_path))
    assert not access.open_to_all
    assert [principal(access, token) for token in (ONE, TWO, "three")] == ["ada", "bob", 401]
    assert isinstance(access.admit(HOST), Rejected)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    access = AccessControl(make_settings(tokens=token_file(tmp_path, f"ada {ONE}")).http, str(tmp_path))
    token_file(tmp_path, f"bob  {TWO}")
    next_look(access)
    assert [principal(access, token) for token in (ONE, TWO)] == [401, "bob"]


@pytest.mark.parametrize("text", ["", "ada", None])
def test_one_that_cannot_be_read_any_more_changes_nothing(tmp_path: Path, text: str | None) -> None:
    path = token_file(tmp_path, f"ada {ONE}")
    access = AccessControl(make_settings(tokens=path).http, str(tmp_path))
    if text is None:
        Path(path).unlink()
    else:
        token_file(tmp_path, text)
    assert principal(access, ONE) == "ada"


@pytest.mark.parametrize("text", ["", "ada", "\udcff"])
def test_one_that_cannot_be_read_at_the_start_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadSetting, match=f"cannot use the token file {path}: "):
        AccessControl(make_settings(tokens=str(path)).http, str(tmp_path))


def test_one_that_is_not_there_too(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="No such file"):
        AccessControl(make_settings(tokens=str(tmp_path / "nowhere")).http, str(tmp_path))


def test_a_signed_token_tells_the_principal(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    assert not access.open_to_all
    assert access.authorization_servers == [ISSUER]
    assert principal(access, signed()) == "ada"


@pytest.mark.parametrize(
    "subject",
    [
        "bob@example.org",
        "auth0|5f7c8ec7c33c6c004bbafe82",
        "repo:octo-org/octo-repo:ref:refs/heads/" + "a-long-branch-name/" * 10,
        "system:serviceaccount:team:agent",
        "https://accounts.example/users/1?x=y",
        "CN=Ada Lovelace,O=Example",
        "Zoë",
    ],
)
def test_the_subject_of_a_signed_token_may_be_as_its_issuer_writes_it(tmp_path: Path, subject: str) -> None:
    assert principal(signed_access(tmp_path), signed(sub=subject)) == subject


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        ("", "is empty"),
        ("x" * 1025, "has 1025 characters; the limit is 1024"),
        ("a\x1b[31m", "contains unprintable characters"),
        ("local", "is local, which is the principal of clients without a token"),
    ],
)
def test_a_subject_that_cannot_be_a_principal_is_refused_with_the_reason(
    tmp_path: Path, subject: str, why: str
) -> None:
    verdict = signed_access(tmp_path).admit(bearer(signed(sub=subject)))
    assert verdict == Rejected(401, f"Unauthorized: the sub of this token {why}")


def next_look(access: AccessControl) -> None:
    """Pretend that it is time to check the files again."""
    access._checked_at = -CHECK_INTERVAL


def test_a_key_that_is_taken_out_of_the_file_is_not_valid_any_longer(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    assert principal(access, signed()) == "ada"
    key_file(tmp_path, name="k2")
    next_look(access)
    assert principal(access, signed()) == 401
    assert principal(access, signed(kid="k2")) == "ada"


def test_a_key_file_without_keys_takes_them_all_away_and_opens_to_nobody(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    (tmp_path / "jwks.json").write_text('{"keys": []}')
    next_look(access)
    assert principal(access, signed()) == 401
    assert isinstance(access.admit(HOST), Rejected)
    assert not access.open_to_all


@pytest.mark.parametrize("text", ["", "{", '{"keys": [{}]}', None])
def test_a_key_file_that_cannot_be_read_any_more_changes_nothing(tmp_path: Path, text: str | None) -> None:
    access = signed_access(tmp_path)
    path = tmp_path / "jwks.json"
    path.write_text(text) if text is not None else path.unlink()
    next_look(access)
    assert principal(access, signed()) == "ada"


def test_what_is_remembered_of_one_request_says_nothing_about_another(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    asked = bearer(signed())
    verdict = access.admit(asked)
    assert isinstance(verdict, Admitted)
    assert verdict.principal == "ada"
    assert access.admit(asked) == verdict
    for other in ({"host": "evil.example"}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert isinstance(access.admit(asked | other), Rejected)
    assert principal(access, signed(sub="bob")) == "bob"


@pytest.mark.parametrize(
    "changed",
    [
        {"key": OTHER_KEY},
        {"kid": "k2"},
        {"exp": time.time() - 3600},
        {"exp": None},
        {"sub": None},
        {"sub": "with\na line break"},
        {"sub": "x" * 1025},
        {"sub": "local"},
        {"sub": ""},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "somebody"},
        {"aud": None},
        {"nbf": time.time() + 3600},
    ],
)
def test_one_that_is_not_meant_for_us_or_not_now_is_not_valid(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert principal(signed_access(tmp_path), signed(**changed)) == 401


def test_nor_is_one_that_nobody_or_a_shared_secret_signed(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    unsigned = jwt.encode(dict(CLAIMS), "", algorithm="none", headers={"kid": "k1"})
    shared = jwt.encode(dict(CLAIMS), "x" * 32, algorithm="HS256", headers={"kid": "k1"})
    whole = signed()
    assert [principal(access, token) for token in (unsigned, shared, whole[:-4], "a.b.c", "..")] == [401] * 5
    assert isinstance(access.admit(HOST), Rejected)
    assert principal(access, "no-dots") == 401


def test_a_signed_token_does_not_open_to_the_wrong_name_or_page(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    for wrong, status in (({"host": "evil.example"}, 421), ({"origin": "https://evil.example"}, 403)):
        verdict = access.admit(bearer(signed()) | wrong)
        assert isinstance(verdict, Rejected)
        assert verdict.status == status


def test_both_kinds_may_be_taken_at_once(tmp_path: Path) -> None:
    access = signed_access(tmp_path, tokens=token_file(tmp_path, f"bob {TWO}"))
    assert [principal(access, token) for token in (signed(), TWO, ONE)] == ["ada", "bob", 401]


def test_a_key_file_without_names_or_keys_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"none of its keys has a name \(kid\)"):
        AccessControl(make_settings(jwks=key_file(tmp_path, name=None)).http, str(tmp_path))
    for text in ("", "{}", '{"keys": []}', "[]", '{"keys": [1]}', '{"keys": 1}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(BadSetting, match="cannot use the key file"):
            AccessControl(make_settings(jwks=str(tmp_path / "bad.json")).http, str(tmp_path))


def test_whoever_guesses_tokens_has_to_wait_and_clients_that_are_in_do_not(tmp_path: Path) -> None:
    access = AccessControl(make_settings(tokens=token_file(tmp_path, f"ada {ONE}\nbob {TWO}")).http, str(tmp_path))
    assert access.admit(bearer(ONE), "192.0.2.1") == Admitted("ada")
    statuses = []
    for number in range(50):
        verdict = access.admit(bearer(f"guess-number-{number}"), "192.0.2.1")
        assert isinstance(verdict, Rejected)
        statuses.append(verdict.status)
    assert set(statuses[:20]) == {401}
    assert statuses[-1] == 429
    assert access.admit(bearer(ONE), "192.0.2.1") == Admitted("ada"), "it was valid before"
    assert access.admit(bearer(TWO), "192.0.2.2") == Admitted("bob"), "it comes from elsewhere"
    new = access.admit(bearer(TWO + "x"), "192.0.2.1")
    assert isinstance(new, Rejected)
    assert new.status == 429


def test_a_request_without_a_token_is_no_guess(tmp_path: Path) -> None:
    access = AccessControl(make_settings(tokens=token_file(tmp_path, f"ada {ONE}")).http, str(tmp_path))
    for _ in range(50):
        verdict = access.admit(HOST)
        assert isinstance(verdict, Rejected)
        assert verdict.status == 401
    assert access.admit(bearer(ONE)) == Admitted("ada")


def test_the_keys_are_read_again_when_they_change(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    assert principal(access, signed()) == "ada"
    key_file(tmp_path, name="k2")
    access._checked_at = 0.0
    assert principal(access, signed()) == 401
    assert principal(access, signed(kid="k2")) == "ada"


@pytest.mark.parametrize(("mode", "warnings"), [(0o644, 1), (0o640, 0), (0o600, 0)])
def test_a_token_file_that_everybody_can_read_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warnings: int
) -> None:
    path = token_file(tmp_path, f"ada {ONE}")
    Path(path).chmod(mode)
    AccessControl(make_settings(tokens=path).http, str(tmp_path))
    assert caplog.text.count(f"can read the token file {path}; run chmod 600 on it") == warnings
    assert ONE not in caplog.text


def test_only_who_shows_the_generated_token_comes_in_as_the_user_of_this_machine(tmp_path: Path) -> None:
    access = AccessControl(make_settings(generate_token=True).http, str(tmp_path))
    assert not access.open_to_all
    assert access.admit(bearer(own_token(str(tmp_path)))) == Admitted("local")
    for headers in (HOST, bearer("guess")):
        assert isinstance(access.admit(headers), Rejected)


def test_the_generated_token_goes_together_with_a_file_of_tokens(tmp_path: Path) -> None:
    tokens = token_file(tmp_path, f"ada {ONE}")
    access = AccessControl(make_settings(generate_token=True, tokens=tokens).http, str(tmp_path))
    assert access.admit(bearer(own_token(str(tmp_path)))) == Admitted("local")
    assert access.admit(bearer(ONE)) == Admitted("ada")
