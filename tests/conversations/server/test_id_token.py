"""`userInfo` of a ChatGPT sign-in, on a machine that reaches no server of OpenAI."""

import base64
import json
from pathlib import Path

import pytest

from codex_mcp.conversations.server.id_token import email_in
from tests.support.core.callers import TalkingClient, talking


def token(**claims: object) -> str:
    """An unsigned JSON web token."""
    parts = ({"alg": "none"}, claims)
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".c2ln"
    )


def sign_in(id_token: str) -> str:
    tokens = {"id_token": id_token, "access_token": token(exp=1), "refresh_token": "r", "account_id": "a"}
    return json.dumps({"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2025-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "me@example.org"},
        {"https://api.openai.com/profile": {"email": "me@example.org"}},
    ],
    ids=["claim", "profile"],
)
async def test_the_address_is_that_of_the_id_token(tmp_path: Path, claims: dict[str, object]) -> None:
    async with talking(tmp_path) as (methods, _model):
        home = Path(methods.conversations.settings.core.codex_home)
        (home / "auth.json").write_text(sign_in(token(**claims)))
        assert await TalkingClient(methods).call("userInfo") == {"allegedUserEmail": "me@example.org"}
        guest = TalkingClient(methods, "guest", is_local=False)
        assert await guest.call("userInfo") == {"allegedUserEmail": None}


@pytest.mark.parametrize(
    "auth_json",
    [
        *("", "[]", "{", '{"tokens": null}', '{"tokens": {}}', '{"OPENAI_API_KEY": "sk-x"}'),
        *(sign_in(wrong) for wrong in ("", "a.b", "a.b.c", "a.é.c", "a.!!!!.c", "a.W10.c", "." * 9)),
        *(sign_in(token(**claims)) for claims in ({}, {"email": None}, {"email": 5}, {"email": ""})),
    ],
)
def test_a_file_without_an_address_has_none(auth_json: str) -> None:
    assert email_in(auth_json.encode()) is None
