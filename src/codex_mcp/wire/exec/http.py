"""Pure. `http/request` of an exec-server: a request that is made from its machine, and what comes back."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field


class RedirectPolicy(StrEnum):
    """What to do with an answer that points elsewhere."""

    FOLLOW = "follow"
    STOP = "stop"


class HttpHeader(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One header. A request may take the end of its value from the server's environment."""

    name: str
    value: str
    value_env_var: str | None = None


class HttpRequest(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`http/request`."""

    method: str
    url: str
    request_id: str
    headers: list[HttpHeader] = field(default_factory=list)
    body_base64: str | None = None
    timeout_ms: int | None = None
    redirect_policy: RedirectPolicy = RedirectPolicy.FOLLOW
    stream_response: bool = False


class HttpResponse(Struct, frozen=True, rename="camel"):
    """Its answer. The body of a streamed one comes later, in pieces."""

    status: int
    headers: list[HttpHeader]
    body_base64: str


class BodyDelta(Struct, frozen=True, rename="camel"):
    """`http/request/bodyDelta`: one piece; the last one is empty and done."""

    request_id: str
    seq: int
    delta_base64: str
    done: bool
    error: str | None
