"""An Agent Identity of OpenAI: a JWT with a private key in it, of which only signatures are ever sent.

The JWT (`CODEX_ACCESS_TOKEN`) is checked against OpenAI's public keys. Its key signs the request for a task, and then,
with the task's id and the time, an assertion for each request to the registry.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from typing import Any, Final

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.remote.sealed_box import open_sealed_box

AUDIENCE: Final = "codex-app-server"
ISSUER: Final = "https://chatgpt.com/codex-backend/agent-identity"

VARIABLE: Final = "CODEX_ACCESS_TOKEN"

CLOCK_SKEW: Final = 60
"""Seconds by which the clocks of two machines may differ."""


class _Claims(Struct, frozen=True):
    agent_runtime_id: str
    agent_private_key: str
    account_id: str
    chatgpt_account_is_fedramp: bool = False


class TaskRequest(Struct, frozen=True):
    timestamp: str
    signature: str


class TaskAnswer(Struct, frozen=True):
    """The service's answer; either spelling is known to be used."""

    task_id: str | None = None
    camel_task_id: str | None = msgspec.field(default=None, name="taskId")
    encrypted_task_id: str | None = None
    camel_encrypted_task_id: str | None = msgspec.field(default=None, name="encryptedTaskId")


class AgentIdentity:
    def __init__(self, claims: _Claims, key: Ed25519PrivateKey) -> None:
        self.runtime_id = claims.agent_runtime_id
        self._account_id = claims.account_id
        self._is_fedramp = claims.chatgpt_account_is_fedramp
        self._key = key

    def __repr__(self) -> str:
        return f"<AgentIdentity {self.runtime_id}>"

    def task_request(self, now: float) -> TaskRequest:
        when = _timestamp(now)
        return TaskRequest(when, self._signature(f"{self.runtime_id}:{when}"))

    def task_id(self, answer: TaskAnswer) -> str:
        """Raises ValueError if there is none, or it was encrypted for another key."""
        plain = answer.task_id or answer.camel_task_id
        if plain:
            return plain
        encrypted = answer.encrypted_task_id or answer.camel_encrypted_task_id
        if not encrypted:
            raise ValueError("it has no task id")
        return open_sealed_box(_for_boxes(self._key), base64.b64decode(encrypted, validate=True)).decode()

    def headers(self, task_id: str, now: float) -> dict[str, str]:
        """What proves this identity to the registry."""
        when = _timestamp(now)
        assertion = {
            "agent_runtime_id": self.runtime_id,
            "signature": self._signature(f"{self.runtime_id}:{task_id}:{when}"),
            "task_id": task_id,
            "timestamp": when,
        }
        encoded = base64.urlsafe_b64encode(msgspec.json.encode(assertion)).rstrip(b"=").decode()
        headers = {"Authorization": f"AgentAssertion {encoded}", "ChatGPT-Account-ID": self._account_id}
        return {**headers, "X-OpenAI-Fedramp": "true"} if self._is_fedramp else headers

    def _signature(self, text: str) -> str:
        return base64.b64encode(self._key.sign(text.encode())).decode()


def agent_identity(token: str, key_set: dict[str, Any]) -> AgentIdentity:
    """The identity in this JWT, if one of these keys has signed it. Raises Refused; the token is not in the text."""
    try:
        kid = jwt.get_unverified_header(token).get("kid")
        (key,) = (key for key in jwt.PyJWKSet.from_dict(key_set).keys if key.key_id == kid)
        claims = msgspec.convert(
            jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=AUDIENCE,
                issuer=ISSUER,
                leeway=CLOCK_SKEW,
                options={"require": ["exp", "iss", "aud"]},
            ),
            _Claims,
        )
        private = load_der_private_key(base64.b64decode(claims.agent_private_key, validate=True), None)
    except jwt.PyJWTError as exc:
        raise Refused(f"cannot use the Agent Identity in {VARIABLE}: {exc}; get a new one") from exc
    except (msgspec.MsgspecError, binascii.Error, ValueError, TypeError) as exc:
        why = str(exc) if isinstance(exc, msgspec.MsgspecError) else "its key, or the one that signed it, is not known"
        raise Refused(f"cannot use the Agent Identity in {VARIABLE}: {why}; get a new one") from exc
    if not isinstance(private, Ed25519PrivateKey):
        raise Refused(f"cannot use the Agent Identity in {VARIABLE}: its key is not an Ed25519 key; get a new one")
    return AgentIdentity(claims, private)


def _for_boxes(key: Ed25519PrivateKey) -> X25519PrivateKey:
    """The key for encryption that belongs to a key for signatures."""
    return X25519PrivateKey.from_private_bytes(hashlib.sha512(key.private_bytes_raw()).digest()[:32])


def _timestamp(now: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
