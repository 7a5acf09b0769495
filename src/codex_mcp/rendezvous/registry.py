"""Pure. The registry: which environments exist, whose they are, and who may reach them.

    environment is            register by its principal     register by another    connect
    ------------------------  ----------------------------  ---------------------  -----------------------------
    unknown                   -> known                      -> known, theirs       environment_offline
    known, executor away      the new registration counts   environment_taken      environment_offline
    known, executor there     the new one counts, once its  environment_taken      a ticket, if `reach` allows it
                              executor connects

A principal without the grant learns nothing about an environment, not even whether it exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.relay.bodies import (
    OFFLINE,
    SUPERSEDED,
    Connect,
    Connected,
    EnvironmentEntry,
    Register,
    Registered,
    Validate,
    Validated,
)
from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.handshake import PROFILE
from codex_mcp.relay.keys import PublicKeyObject, public_keys
from codex_mcp.rendezvous.grants import ExecutorGrant, is_environment_id
from codex_mcp.rendezvous.routes import Routes
from codex_mcp.rendezvous.tickets import (
    AUTHORIZATION_SECONDS,
    TICKET_SECONDS,
    Authorization,
    HarnessTicket,
    Registration,
    read_signed,
    signed,
)

MAX_ENVIRONMENTS: Final = 1000
"""Of one principal. Each takes 5 KB."""

FORGOTTEN_AFTER: Final = 24 * 3600.0
"""Seconds after which an environment whose executor is away is free for another principal."""

NO_GRANT: Final = ExecutorGrant()


class RegistryError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class _Environment(Struct):
    registration: Registration
    fingerprint: str
    seen_at: float
    connected: Registration | None = None
    """Whose executor is connected, or was last."""


class Asking(Struct, frozen=True):
    """Who asks for what, and when."""

    principal: str
    environment_id: str
    base: str
    """The rendezvous's own address, as `wss://host`."""
    now: float


class Registry:
    def __init__(self, key: bytes, grants: Mapping[str, ExecutorGrant], routes: Routes) -> None:
        self._key = key
        self._grants = grants
        self._routes = routes
        self._environments: dict[str, _Environment] = {}

    def use(self, grants: Mapping[str, ExecutorGrant]) -> None:
        """The token file has changed."""
        self._grants = grants

    def register(self, asking: Asking, body: Register, new_id: str, name: str) -> Registered:
        if not self._grant(asking.principal).may_register(asking.environment_id):
            raise RegistryError(
                403, "forbidden", f"this token may not register {asking.environment_id!r}; see register= in its line"
            )
        if not is_environment_id(asking.environment_id):
            raise RegistryError(400, "invalid_environment", "an environment id has 1 to 64 letters, digits, - and _")
        if body.security_profile != PROFILE:
            raise RegistryError(400, "unsupported_security_profile", f"only {PROFILE} is supported")
        fingerprint = _fingerprint(body.executor_public_key)
        self._check_owner(asking)
        registration = Registration(
            new_id, asking.environment_id, asking.principal, body.executor_public_key, name, asking.now
        )
        known = self._environments.get(asking.environment_id)
        if known is None or not self._is_online(known):
            self._note(registration, fingerprint, asking.now)
        url = f"{asking.base}/relay/executor/{signed(self._key, registration)}"
        return Registered(asking.environment_id, url, PROFILE, new_id)

    def executor_arrived(self, signed_text: str, now: float) -> Registration:
        """An executor opens its socket: once it is connected, its environment can be reached. Raises RegistryError."""
        registration = read_signed(self._key, signed_text, Registration)
        if registration is None or not self._grant(registration.principal).may_register(registration.environment_id):
            raise RegistryError(403, "forbidden", "unknown registration; register again")
        known = self._environments.get(registration.environment_id)
        if known is not None and known.registration.id != registration.id:
            if known.registration.principal != registration.principal:
                raise RegistryError(403, "environment_taken", "the environment belongs to another principal")
            if known.registration.at > registration.at:
                # Only then: an executor that may register again would take the place of the one that is there.
                if self._is_online(known):
                    raise RegistryError(403, SUPERSEDED, "another executor has taken its place")
                raise RegistryError(403, "forbidden", "another executor was registered since; register again")
        self._note(registration, _fingerprint(registration.key), now)
        return registration

    def _note(self, registration: Registration, fingerprint: str, now: float) -> None:
        known = self._environments.get(registration.environment_id)
        connected = None if known is None else known.connected
        self._environments[registration.environment_id] = _Environment(registration, fingerprint, now, connected)

    def executor_connected(self, registration: Registration) -> Registration:
        """Its socket is open. Return whose executor was connected last; it may be the same."""
        known = self._environments[registration.environment_id]
        self._environments[registration.environment_id] = replace(known, connected=registration)
        return known.connected or registration

    def executor_left(self, registration: Registration, now: float) -> None:
        known = self._environments.get(registration.environment_id)
        if known is not None and known.registration.id == registration.id:
            known.seen_at = now

    def validate(self, asking: Asking, body: Validate) -> Validated:
        known = self._environments.get(asking.environment_id)
        if known is None or known.registration.principal != asking.principal:
            raise RegistryError(403, "forbidden", f"this token has not registered {asking.environment_id!r}")
        claim = read_signed(self._key, body.harness_key_authorization, Authorization)
        expected = (known.registration.id, asking.environment_id, _fingerprint(body.harness_public_key))
        return Validated(
            valid=claim is not None
            and body.executor_registration_id == known.registration.id
            and (claim.registration_id, claim.environment_id, claim.fingerprint) == expected
            and asking.now < claim.expires
        )

    def connect(self, asking: Asking, body: Connect) -> Connected:
        if not self._grant(asking.principal).may_reach(asking.environment_id):
            raise RegistryError(
                403, "forbidden", f"this token may not reach {asking.environment_id!r}; see reach= in its line"
            )
        fingerprint = _fingerprint(body.harness_public_key)
        known = self._environments.get(asking.environment_id)
        if known is None or not self._is_online(known):
            raise RegistryError(409, OFFLINE, f"no executor is connected as {asking.environment_id!r}; start one")
        registration = known.registration
        names = (registration.id, asking.environment_id)
        ticket = HarnessTicket(*names, asking.principal, fingerprint, asking.now + TICKET_SECONDS)
        return Connected(
            asking.environment_id,
            f"{asking.base}/relay/harness/{signed(self._key, ticket)}",
            PROFILE,
            registration.id,
            registration.key,
            signed(self._key, Authorization(*names, fingerprint, asking.now + AUTHORIZATION_SECONDS)),
        )

    def harness_arrived(self, signed_text: str, now: float) -> HarnessTicket:
        """A harness opens its socket. Raises RegistryError."""
        ticket = read_signed(self._key, signed_text, HarnessTicket)
        if ticket is None or now >= ticket.expires:
            raise RegistryError(403, "forbidden", "unknown or expired ticket; connect again")
        if not self.may_still_reach(ticket):
            raise RegistryError(403, "forbidden", "this token may no longer reach the environment")
        known = self._environments.get(ticket.environment_id)
        if known is None or known.registration.id != ticket.registration_id:
            raise RegistryError(403, "superseded", "another executor has registered since; connect again")
        return ticket

    def may_still_reach(self, ticket: HarnessTicket) -> bool:
        return self._grant(ticket.principal).may_reach(ticket.environment_id)

    def revoked(self) -> list[Registration]:
        """Executors that may be connected, and may no longer register."""
        connected = [each.connected for each in self._environments.values() if each.connected is not None]
        return [each for each in connected if not self._grant(each.principal).may_register(each.environment_id)]

    def listed(self, principal: str, streams: Mapping[str, int]) -> list[EnvironmentEntry]:
        """What this principal may see: its own environments, and those that it may reach."""
        grant = self._grant(principal)
        return [
            EnvironmentEntry(
                environment_id,
                each.registration.principal,
                each.registration.name,
                self._is_online(each),
                streams.get(each.registration.id, 0),
                each.registration.at,
                each.fingerprint,
            )
            for environment_id, each in sorted(self._environments.items())
            if each.registration.principal == principal or grant.may_reach(environment_id)
        ]

    def expire(self, now: float) -> None:
        """Forget environments whose executor has been away for long."""
        self._environments = {
            environment_id: each
            for environment_id, each in self._environments.items()
            if self._is_online(each) or now - each.seen_at <= FORGOTTEN_AFTER
        }

    def online(self) -> int:
        return sum(map(self._is_online, self._environments.values()))

    def _is_online(self, environment: _Environment) -> bool:
        return self._routes.executor_socket(environment.registration.id) is not None

    def _grant(self, principal: str) -> ExecutorGrant:
        return self._grants.get(principal, NO_GRANT)

    def _check_owner(self, asking: Asking) -> None:
        known = self._environments.get(asking.environment_id)
        if known is not None and known.registration.principal != asking.principal:
            raise RegistryError(409, "environment_taken", f"{asking.environment_id!r} belongs to another principal")
        own = sum(each.registration.principal == asking.principal for each in self._environments.values())
        if known is None and own >= MAX_ENVIRONMENTS:
            raise RegistryError(429, "too_many_environments", f"a principal may register {MAX_ENVIRONMENTS}")


def _fingerprint(key: PublicKeyObject) -> str:
    try:
        return public_keys(key).fingerprint
    except RelayError as exc:
        raise RegistryError(400, "invalid_public_key", str(exc)) from exc
