"""Pure. What executors and harnesses send to a registry over HTTP, and its answers."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.relay.keys import PublicKeyObject

BASE: Final = "/cloud/environment"

NAME_HEADER: Final = "x-codex-mcp-name"
"""The name that an executor of ours gives itself, for people. Codex sends none."""

OFFLINE: Final = "environment_offline"
"""The error code, with status 409, while no executor is connected. A harness tries again."""

SUPERSEDED: Final = "superseded"
"""The error code, with status 403, for the socket of an executor while another one is connected in its place."""

MAX_BODY_BYTES: Final = 64 * 1024
"""Of a request or an answer; keys take 3 KB of it."""


class Register(Struct, frozen=True):
    security_profile: str
    executor_public_key: PublicKeyObject


class Registered(Struct, frozen=True):
    environment_id: str
    url: str
    security_profile: str
    executor_registration_id: str


class Validate(Struct, frozen=True):
    executor_registration_id: str
    harness_public_key: PublicKeyObject
    harness_key_authorization: str


class Validated(Struct, frozen=True):
    valid: bool


class Connect(Struct, frozen=True):
    harness_public_key: PublicKeyObject


class Connected(Struct, frozen=True):
    """How a harness reaches an executor, once: each connection needs a new answer."""

    environment_id: str
    url: str
    security_profile: str
    executor_registration_id: str
    executor_public_key: PublicKeyObject
    harness_key_authorization: str


class Failure(Struct, frozen=True):
    code: str
    message: str


class Failed(Struct, frozen=True):
    error: Failure


class EnvironmentEntry(Struct, frozen=True):
    """One line of the list of environments."""

    environment_id: str
    principal: str
    name: str
    is_online: bool
    streams: int
    registered_at: float
    fingerprint: str


class EnvironmentList(Struct, frozen=True):
    environments: list[EnvironmentEntry]
