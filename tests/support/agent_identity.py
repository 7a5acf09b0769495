"""OpenAI's services for Agent Identities, and a registry that refuses everybody but remembers what it was sent."""

import asyncio
import base64
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.poly1305 import Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from codex_mcp.execserver.remote import sealed_box
from tests.support.exec.small_web import Page, SmallWeb, Visit, small_web
from tests.support.patience import PATIENCE

RUNTIME = "agent-runtime-1"
ACCOUNT = "account-1"
TASK = "task-run-1"
KID = "the-key-of-the-test"


@dataclass(frozen=True)
class Issuer:
    """Who issues Agent Identities."""

    signs_with: RSAPrivateKey
    agent: Ed25519PrivateKey

    def keys(self) -> dict[str, Any]:
        """Its public keys, as it publishes them."""
        public: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(self.signs_with.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": KID, "alg": "RS256", "use": "sig"}]}

    def token(self, **changes: object) -> str:
        """An Agent Identity."""
        now = int(time.time())
        der = self.agent.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        claims = {
            "iss": "https://chatgpt.com/codex-backend/agent-identity",
            "aud": "codex-app-server",
            "iat": now,
            "exp": now + 3600,
            "agent_runtime_id": RUNTIME,
            "agent_private_key": base64.b64encode(der).decode(),
            "account_id": ACCOUNT,
            "chatgpt_user_id": "user-1",
            "email": "agent@example.com",
            "plan_type": "plus",
            "chatgpt_account_is_fedramp": False,
            **changes,
        }
        return jwt.encode(claims, self.signs_with, "RS256", {"kid": KID})

    def sealed_task(self) -> str:
        """The task's id in a box that only the agent can open."""
        digest = hashlib.sha512(self.agent.private_bytes_raw()).digest()
        public = X25519PrivateKey.from_private_bytes(digest[:32]).public_key().public_bytes_raw()
        sender = X25519PrivateKey.generate()
        own = sender.public_key().public_bytes_raw()
        key = sealed_box._hsalsa20(sender.exchange(X25519PublicKey.from_public_bytes(public)), bytes(16))
        stream = sealed_box._xsalsa20(key, hashlib.blake2b(own + public, digest_size=24).digest(), 32 + len(TASK))
        text = bytes(one ^ other for one, other in zip(TASK.encode(), stream[32:], strict=True))
        return base64.b64encode(own + Poly1305.generate_tag(stream[:32], text) + text).decode()


def issuer() -> Issuer:
    return Issuer(generate_private_key(65537, 2048), Ed25519PrivateKey.generate())


@dataclass(frozen=True)
class Services:
    """Where they are, and what they have seen."""

    web: SmallWeb

    def environment(self, token: str) -> dict[str, str]:
        """What a program needs to find them."""
        return {
            "CODEX_ACCESS_TOKEN": token,
            "CODEX_AGENT_IDENTITY_JWKS_BASE_URL": self.web.url(""),
            "CODEX_AGENT_IDENTITY_AUTHAPI_BASE_URL": self.web.url(""),
        }

    def seen(self, ending: str) -> list[Visit]:
        """The requests whose path ends so."""
        return [visit for visit in self.web.visits if visit.path.endswith(ending)]


@contextlib.asynccontextmanager
async def services(
    keys: Mapping[str, Any], task: Mapping[str, str], statuses: Sequence[str] = ()
) -> AsyncIterator[Services]:
    """Give this task to an agent that asks; first answer so often with these errors."""
    errors = list(statuses)

    def page(body: object, status: str = "200 OK") -> Page:
        async def answer(visit: Visit) -> None:
            await visit.answer(msgspec.json.encode(body), status, "content-type: application/json\r\n")

        return answer

    async def register_task(visit: Visit) -> None:
        await page(task if not errors else {"error": "not now"}, errors.pop(0) if errors else "200 OK")(visit)

    refusal = {"error": {"code": "unauthorized", "message": "not here"}}
    pages = {
        "/agent-identities/jwks": page(keys),
        f"/v1/agent/{RUNTIME}/task/register": register_task,
        "/cloud/environment/build-1/register": page(refusal, "401 Unauthorized"),
    }
    async with small_web(pages) as web:
        yield Services(web)


async def ended(argv: Sequence[str], there: Services, token: str, home: Path) -> tuple[int | None, str]:
    """Run an executor until the registry has refused it: its exit code, and all that it said."""
    program = await asyncio.create_subprocess_exec(
        *argv,
        *("--remote", there.web.url(""), "--environment-id", "build-1", "--use-agent-identity-auth"),
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "CODEX_HOME": str(home), **there.environment(token)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE):
        said, _ = await program.communicate()
    return program.returncode, said.decode()


def check_task_request(visit: Visit, who: Issuer) -> None:
    """The agent has signed its request for a task."""
    body = msgspec.json.decode(visit.body)
    assert sorted(body) == ["signature", "timestamp"]
    who.agent.public_key().verify(base64.b64decode(body["signature"]), f"{RUNTIME}:{body['timestamp']}".encode())
    assert "authorization" not in visit.headers


def check_registration(visit: Visit, who: Issuer) -> None:
    """The agent has proved to the registry who it is, with its task."""
    kind, _, encoded = visit.headers["authorization"].partition(" ")
    assert kind == "AgentAssertion"
    assert "=" not in encoded
    raw = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    assertion = msgspec.json.decode(raw)
    assert list(assertion) == ["agent_runtime_id", "signature", "task_id", "timestamp"]
    assert b" " not in raw
    signed = f"{RUNTIME}:{TASK}:{assertion['timestamp']}"
    who.agent.public_key().verify(base64.b64decode(assertion["signature"]), signed.encode())
    assert (assertion["task_id"], assertion["agent_runtime_id"]) == (TASK, RUNTIME)
    assert visit.headers["chatgpt-account-id"] == ACCOUNT
