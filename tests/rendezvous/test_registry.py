"""The registry: who may register, reach and see what, on a clock of its own."""

from collections.abc import Mapping

import msgspec
import pytest

from codex_mcp.relay.bodies import OFFLINE, SUPERSEDED, Connect, Connected, Register, Registered, Validate
from codex_mcp.relay.handshake import PROFILE
from codex_mcp.relay.keys import public_key_object
from codex_mcp.rendezvous import registry as module
from codex_mcp.rendezvous.grants import ExecutorGrant
from codex_mcp.rendezvous.registry import FORGOTTEN_AFTER, Asking, Registry, RegistryError
from codex_mcp.rendezvous.routes import Routes
from codex_mcp.rendezvous.tickets import (
    AUTHORIZATION_SECONDS,
    TICKET_SECONDS,
    HarnessTicket,
    Registration,
    read_signed,
    signed,
)
from tests.support.relay import private_keys

KEY = bytes(32)
EXECUTOR = public_key_object(private_keys("executor").public)
HARNESS = public_key_object(private_keys("harness").public)
GRANTS = {
    "alice": ExecutorGrant(("alice-*",), ("alice-*", "build-*")),
    "bob": ExecutorGrant(("bob-*", "build-*", "no/id"), ("bob-*",)),
    "ci": ExecutorGrant(("build-*",)),
}


def asking(principal: str, environment_id: str, now: float = 0) -> Asking:
    return Asking(principal, environment_id, "wss://relay", now)


def registered(
    registry: Registry, principal: str = "ci", environment_id: str = "build-1", now: float = 0
) -> Registered:
    return registry.register(asking(principal, environment_id, now), Register(PROFILE, EXECUTOR), f"id-{now}", "name")


class Watched(Registry):
    """With its routes, where executors come and go."""

    def __init__(self, key: bytes = KEY, grants: Mapping[str, ExecutorGrant] = GRANTS) -> None:
        self.routes = Routes()
        super().__init__(key, grants, self.routes)

    def arrive(self, answer: Registered, now: float = 0) -> Registration:
        registration = self.executor_arrived(answer.url.rpartition("/")[2], now)
        self.routes.executor_arrived(registration.id, 1)
        return registration

    def leave(self, registration: Registration, now: float) -> None:
        self.routes.executor_left(registration.id, 1, now)
        self.executor_left(registration, now)


def online() -> Watched:
    registry = Watched()
    registry.arrive(registered(registry))
    return registry


def connected(registry: Registry, now: float = 0) -> Connected:
    return registry.connect(asking("alice", "build-1", now), Connect(HARNESS))


def test_a_harness_gets_what_it_needs_to_reach_an_executor() -> None:
    answer = connected(online())
    assert answer.executor_public_key == EXECUTOR
    assert answer.executor_registration_id == "id-0"
    assert answer.url.startswith("wss://relay/relay/harness/")


@pytest.mark.parametrize(
    ("principal", "environment_id", "status", "code"),
    [
        ("alice", "build-1", 403, "forbidden"),
        ("unknown", "build-1", 403, "forbidden"),
        ("bob", "no/id", 400, "invalid_environment"),
        ("bob", "build-1", 409, "environment_taken"),
    ],
)
def test_who_may_not_register(principal: str, environment_id: str, status: int, code: str) -> None:
    with pytest.raises(RegistryError) as caught:
        registered(online(), principal, environment_id)
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize(
    ("principal", "environment_id", "code"),
    [("bob", "build-1", "forbidden"), ("ci", "build-1", "forbidden"), ("alice", "build-2", OFFLINE)],
)
def test_who_may_not_connect(principal: str, environment_id: str, code: str) -> None:
    with pytest.raises(RegistryError) as caught:
        online().connect(asking(principal, environment_id), Connect(HARNESS))
    assert caught.value.code == code


def test_an_environment_is_offline_until_its_executor_arrives_and_after_it_has_left() -> None:
    registry = Watched()
    answer = registered(registry)
    with pytest.raises(RegistryError, match="no executor is connected"):
        connected(registry)
    registration = registry.arrive(answer)
    assert registry.online() == 1
    connected(registry)
    registry.leave(registration, 1)
    with pytest.raises(RegistryError, match="no executor is connected") as caught:
        connected(registry)
    assert caught.value.status == 409
    registry.arrive(answer, 2)
    connected(registry)


def test_a_registration_survives_a_restart_of_the_registry() -> None:
    answer = registered(Watched())
    restarted = Watched()
    restarted.arrive(answer)
    assert connected(restarted).executor_registration_id == "id-0"
    with pytest.raises(RegistryError, match="register again"):
        Watched(b"another key" * 3).arrive(answer)
    with pytest.raises(RegistryError, match="register again"):
        Watched(KEY, {}).arrive(answer)


def test_the_newest_registration_counts_once_its_executor_arrives() -> None:
    registry = Watched()
    first = registered(registry, now=0)
    registry.arrive(first)
    second = registered(registry, now=5)
    assert connected(registry).executor_registration_id == "id-0"
    newer = registry.arrive(second)
    assert connected(registry).executor_registration_id == "id-5"
    with pytest.raises(RegistryError, match="taken its place") as caught:
        registry.arrive(first)
    assert (caught.value.status, caught.value.code) == (403, SUPERSEDED)
    registry.leave(newer, 6)
    with pytest.raises(RegistryError, match="register again") as caught:
        registry.arrive(first)
    assert (caught.value.status, caught.value.code) == (403, "forbidden")


def test_an_environment_that_was_left_long_ago_is_free() -> None:
    registry = Watched()
    registration = registry.arrive(registered(registry))
    registry.expire(FORGOTTEN_AFTER + 1)
    assert registry.online() == 1
    registry.leave(registration, 10)
    registry.expire(FORGOTTEN_AFTER)
    with pytest.raises(RegistryError, match="another principal"):
        registered(registry, "bob")
    registry.expire(FORGOTTEN_AFTER + 11)
    registry.arrive(registered(registry, "bob", now=FORGOTTEN_AFTER + 11))
    with pytest.raises(RegistryError, match="another principal"):
        registry.executor_arrived(signed(KEY, registration), FORGOTTEN_AFTER + 12)
    registry.leave(registration, 0)
    assert registry.online() == 1


def test_an_authorization_holds_for_its_key_environment_and_registration_and_for_a_while() -> None:
    registry = online()
    answer = connected(registry)
    valid = Validate("id-0", HARNESS, answer.harness_key_authorization)

    def is_valid(body: Validate, now: float = 0) -> bool:
        return registry.validate(asking("ci", "build-1", now), body).valid

    assert is_valid(valid, AUTHORIZATION_SECONDS - 1)
    assert not is_valid(valid, AUTHORIZATION_SECONDS)
    assert not is_valid(msgspec.structs.replace(valid, harness_public_key=EXECUTOR))
    assert not is_valid(msgspec.structs.replace(valid, executor_registration_id="other"))
    assert not is_valid(msgspec.structs.replace(valid, harness_key_authorization="forged"))
    assert not is_valid(msgspec.structs.replace(valid, harness_key_authorization=answer.url.rpartition("/")[2]))
    for principal in ("alice", "bob"):
        with pytest.raises(RegistryError, match="not registered"):
            registry.validate(asking(principal, "build-1"), valid)
    registry.arrive(registered(registry, now=5))
    assert not is_valid(valid)


def test_a_ticket_opens_one_environment_for_a_while() -> None:
    registry = online()
    text = connected(registry).url.rpartition("/")[2]
    assert read_signed(KEY, text, HarnessTicket) == registry.harness_arrived(text, TICKET_SECONDS - 1)
    for wrong, now in ((text, TICKET_SECONDS), ("forged", 0)):
        with pytest.raises(RegistryError, match="connect again"):
            registry.harness_arrived(wrong, now)
    ticket = registry.harness_arrived(text, 0)
    registry.use({})
    assert not registry.may_still_reach(ticket)
    with pytest.raises(RegistryError, match="no longer"):
        registry.harness_arrived(text, 0)
    registry.use(GRANTS)
    first = registry.arrive(registered(registry, now=5))
    assert registry.executor_connected(first) == first
    assert registry.revoked() == []
    second = registry.arrive(registered(registry, now=6))
    assert registry.executor_connected(second) == first
    registry.use({})
    assert registry.revoked() == [second]
    registry.use(GRANTS)
    with pytest.raises(RegistryError, match="another executor"):
        registry.harness_arrived(text, 0)


def test_a_principal_sees_what_it_registered_and_what_it_may_reach() -> None:
    registry = online()
    registered(registry, "bob", "bob-1")
    seen = {name: [each.environment_id for each in registry.listed(name, {"id-0": 3})] for name in (*GRANTS, "unknown")}
    assert seen == {"alice": ["build-1"], "bob": ["bob-1"], "ci": ["build-1"], "unknown": []}
    (entry,) = registry.listed("alice", {"id-0": 3})
    assert (entry.is_online, entry.streams, entry.name) == (True, 3, "name")
    assert entry.fingerprint == private_keys("executor").public.fingerprint


def test_bodies_that_cannot_be_used_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Watched()
    with pytest.raises(RegistryError, match=PROFILE):
        registry.register(asking("ci", "build-1"), Register("other", EXECUTOR), "id", "")
    broken = msgspec.structs.replace(EXECUTOR, x25519_public_key="AAAA")
    with pytest.raises(RegistryError, match="x25519"):
        registry.register(asking("ci", "build-1"), Register(PROFILE, broken), "id", "")
    monkeypatch.setattr(module, "MAX_ENVIRONMENTS", 1)
    registered(registry)
    registered(registry)
    with pytest.raises(RegistryError, match="may register 1"):
        registered(registry, environment_id="build-2")
