"""Turns the Agent Identity in `CODEX_ACCESS_TOKEN` into headers for the registry: checks it, and registers a task.

Both services are OpenAI's; the variables `CODEX_AGENT_IDENTITY_JWKS_BASE_URL` and
`CODEX_AGENT_IDENTITY_AUTHAPI_BASE_URL` name others, as for Codex.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.remote.agent_identity import VARIABLE, TaskAnswer, agent_identity
from codex_mcp.relay.bodies import MAX_BODY_BYTES
from codex_mcp.relay.registry_client import Headers, check_address, opener

KEYS_VARIABLE: Final = "CODEX_AGENT_IDENTITY_JWKS_BASE_URL"
KEYS_URL: Final = "https://chatgpt.com/backend-api"

TASKS_VARIABLE: Final = "CODEX_AGENT_IDENTITY_AUTHAPI_BASE_URL"
TASKS_URL: Final = "https://auth.openai.com/api/accounts"

ATTEMPTS: Final = 3
SECONDS: Final = 30.0
"""For one of them; both as in Codex."""

Answer = TypeVar("Answer")


def agent_headers(environment: Mapping[str, str]) -> Headers:
    """What to send with each request to the registry. Raises Refused."""
    token = environment.get(VARIABLE, "").strip()
    if not token:
        raise Refused(f"cannot use --use-agent-identity-auth: set {VARIABLE} to an Agent Identity (a JWT)")
    identity = agent_identity(token, _asked(_keys_url(environment), None, dict[str, Any]))
    url = (
        f"{_base(environment, TASKS_VARIABLE, TASKS_URL)}/v1/agent/{quote(identity.runtime_id, safe='')}/task/register"
    )
    answer = _asked(url, msgspec.json.encode(identity.task_request(time.time())), TaskAnswer)
    try:
        task_id = identity.task_id(answer)
    except ValueError as exc:
        raise Refused(f"cannot use the task that {url} gave: {exc}") from exc
    return lambda: identity.headers(task_id, time.time())


def _keys_url(environment: Mapping[str, str]) -> str:
    base = _base(environment, KEYS_VARIABLE, KEYS_URL)
    return f"{base}/{'wham/' if '/backend-api' in base else ''}agent-identities/jwks"


def _base(environment: Mapping[str, str], variable: str, default: str) -> str:
    url = environment.get(variable, "").strip().rstrip("/") or default
    check_address(url)
    return url


def _asked(url: str, body: bytes | None, kind: type[Answer]) -> Answer:
    """Ask again if the service is overloaded or does not answer. Raises Refused."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", "Accept": "application/json"})
    why = ""
    for _ in range(ATTEMPTS):
        try:
            with opener(url).open(request, timeout=SECONDS) as answer:
                return msgspec.json.decode(answer.read(MAX_BODY_BYTES), type=kind)
        except urllib.error.HTTPError as exc:
            with exc:
                why = f"it refused with {exc.code}"
                if exc.code != HTTPStatus.TOO_MANY_REQUESTS and exc.code < HTTPStatus.INTERNAL_SERVER_ERROR:
                    break
        except msgspec.MsgspecError as exc:
            why = f"its answer cannot be read: {exc}"
            break
        except OSError as exc:
            why = str(exc)
    raise Refused(f"cannot use the Agent Identity in {VARIABLE}: {url}: {why}")
