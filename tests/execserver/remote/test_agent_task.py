"""An executor that registers with an Agent Identity: what it sends, to whom, and what it says if that fails."""

import base64
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as another_kind_of_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.remote.agent_identity import TaskAnswer, agent_identity
from codex_mcp.execserver.remote.agent_task import agent_headers
from tests.support.agent_identity import (
    ACCOUNT,
    KID,
    RUNTIME,
    TASK,
    Issuer,
    check_registration,
    check_task_request,
    ended,
    issuer,
    services,
)

EXECUTOR = [sys.executable, "-m", "codex_mcp", "exec-server"]
FORWARDER = [*EXECUTOR, "forward", "--connect", "ws://127.0.0.1:1"]


@pytest.fixture(scope="module")
def who() -> Issuer:
    return issuer()


@pytest.mark.parametrize("argv", [EXECUTOR, FORWARDER], ids=["executor", "forwarder"])
@pytest.mark.parametrize("form", ["task_id", "taskId", "encrypted_task_id", "encryptedTaskId"])
async def test_the_agent_gets_a_task_and_proves_itself_with_it(
    who: Issuer, tmp_path: Path, form: str, argv: list[str]
) -> None:
    task = {form: who.sealed_task() if form.startswith("encrypted") else TASK}
    async with services(who.keys(), task) as there:
        token = who.token()
        code, said = await ended([*argv, "--log-level", "debug"], there, token, tmp_path)
        assert code == 2
        (asked,) = there.seen("task/register")
        check_task_request(asked, who)
        (registered,) = there.seen("build-1/register")
        check_registration(registered, who)
    for secret in (token, token.split(".")[1], registered.headers["authorization"]):
        assert secret not in said
        assert all(secret not in str(visit.headers) for visit in there.web.visits if visit is not registered)


async def test_a_service_that_is_overloaded_is_asked_again(who: Issuer, tmp_path: Path) -> None:
    async with services(who.keys(), {"task_id": TASK}, ["503 Service Unavailable", "429 Too Many Requests"]) as there:
        await ended(EXECUTOR, there, who.token(), tmp_path)
        assert len(there.seen("task/register")) == 3
        assert there.seen("build-1/register")


@pytest.mark.parametrize(("statuses", "asked"), [(["403 Forbidden"], 1), (["500 Internal Server Error"] * 3, 3)])
async def test_a_service_that_refuses_ends_the_start(
    who: Issuer, tmp_path: Path, statuses: list[str], asked: int
) -> None:
    async with services(who.keys(), {"task_id": TASK}, statuses) as there:
        code, said = await ended(EXECUTOR, there, who.token(), tmp_path)
        assert (code, len(there.seen("task/register")), there.seen("build-1/register")) == (2, asked, [])
        assert f"it refused with {statuses[-1][:3]}" in said


@pytest.mark.parametrize("answer", [{}, {"encrypted_task_id": "AAAA"}, {"encrypted_task_id": "no base64!"}])
async def test_a_task_without_an_id_ends_the_start(who: Issuer, tmp_path: Path, answer: dict[str, str]) -> None:
    async with services(who.keys(), answer) as there:
        code, said = await ended(EXECUTOR, there, who.token(), tmp_path)
        assert code == 2
        assert "cannot use the task" in said


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": 1}, "expired"),
        ({"aud": "another"}, "[Aa]udience"),
        ({"iss": "https://example.com"}, "issuer"),
        ({"agent_runtime_id": 7}, "agent_runtime_id"),
        ({"agent_private_key": "no base64!"}, "not known"),
    ],
)
def test_an_identity_that_cannot_be_used_is_explained(who: Issuer, changes: dict[str, Any], why: str) -> None:
    token = who.token(**changes)
    with pytest.raises(Refused, match=why) as refused:
        agent_identity(token, who.keys())
    assert not any(part in str(refused.value) for part in token.split("."))


def test_an_identity_that_another_issuer_signed_is_refused(who: Issuer) -> None:
    with pytest.raises(Refused, match=r"[Ss]ignature"):
        agent_identity(issuer().token(), who.keys())
    with pytest.raises(Refused, match="not known"):
        agent_identity(who.token(), {"keys": [{**who.keys()["keys"][0], "kid": f"not {KID}"}]})
    with pytest.raises(Refused, match=re.escape("CODEX_ACCESS_TOKEN")):
        agent_identity("not a token", who.keys())


def test_a_key_of_another_kind_is_refused(who: Issuer) -> None:
    key = another_kind_of_key(SECP256R1()).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(Refused, match="Ed25519"):
        agent_identity(who.token(agent_private_key=base64.b64encode(key).decode()), who.keys())


def test_a_task_sealed_for_another_agent_is_not_opened(who: Issuer) -> None:
    identity = agent_identity(who.token(), who.keys())
    with pytest.raises(ValueError, match="not made for this key"):
        identity.task_id(TaskAnswer(encrypted_task_id=issuer().sealed_task()))


def test_headers_change_with_the_time_and_name_the_account(who: Issuer) -> None:
    identity = agent_identity(who.token(chatgpt_account_is_fedramp=True), who.keys())
    first, second = identity.headers(TASK, 0), identity.headers(TASK, 60)
    assert first["Authorization"] != second["Authorization"]
    assert (first["ChatGPT-Account-ID"], first["X-OpenAI-Fedramp"]) == (ACCOUNT, "true")
    assert repr(identity) == f"<AgentIdentity {RUNTIME}>"


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "set CODEX_ACCESS_TOKEN"),
        ({"CODEX_ACCESS_TOKEN": " "}, "set CODEX_ACCESS_TOKEN"),
        ({"CODEX_ACCESS_TOKEN": "x", "CODEX_AGENT_IDENTITY_JWKS_BASE_URL": "http://192.0.2.1"}, "use https"),
        ({"CODEX_ACCESS_TOKEN": "x", "CODEX_AGENT_IDENTITY_JWKS_BASE_URL": "http://127.0.0.1:1"}, "refused"),
    ],
)
def test_what_is_missing_or_unsafe_is_said(variables: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        agent_headers(variables)
