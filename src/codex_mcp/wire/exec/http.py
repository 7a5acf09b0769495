"""Pure. `http/request`: an HTTP request made from the server's machine, and its response."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field


class RedirectPolicy(StrEnum):
    FOLLOW = "follow"
    STOP = "stop"


class HttpHeader(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One header. `value_env_var` names a variable of the server's environment (refused by ours)."""

    name: str
    value: str
    value_env_var: str | None = None


class HttpRequest(Struct, frozen=True, rename="camel", omit_defaults=True):
    method: str
    url: str
    request_id: str
    headers: list[HttpHeader] = field(default_factory=list)
    body_base64: str | None = None
    timeout_ms: int | None = None
    redirect_policy: RedirectPolicy = RedirectPolicy.FOLLOW
    stream_response: bool = False


class HttpResponse(Struct, frozen=True, rename="camel"):
    """A streamed body follows in `BodyDelta`s."""

    status: int
    headers: list[HttpHeader]
    body_base64: str


class BodyDelta(Struct, frozen=True, rename="camel"):
    """A piece of the body, sent to the client; the last one is empty and has `done`."""

    request_id: str
    seq: int
    delta_base64: str
    done: bool
    error: str | None
