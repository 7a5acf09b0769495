"""A real rendezvous on the wire: requests, sockets, limits, other principals, restarts, and its end."""

import asyncio
import contextlib
import http.client
import signal
import urllib.request
from pathlib import Path

import msgspec
import pytest

from codex_mcp.relay.bodies import BASE, OFFLINE, Connect
from codex_mcp.relay.frames import (
    Ack,
    Body,
    Data,
    Handshake,
    Heartbeat,
    Reset,
    Resume,
    decode,
)
from codex_mcp.relay.keys import public_key_object
from codex_mcp.relay.registry_client import RegistryClient, RegistryRefused
from codex_mcp.rendezvous.relay_socket import MAX_WAITING
from codex_mcp.rendezvous.routes import GONE, UNKNOWN
from codex_mcp.transports.websockets.dialled import DialledSocket, HandshakeRefused
from tests.support.patience import PATIENCE
from tests.support.relay import private_keys
from tests.support.rendezvous import OFFLINE as LEFT
from tests.support.rendezvous import (
    TOKEN_FILE,
    TOKENS,
    RunningRendezvous,
    a_frame,
    an_executor,
    executor_keys,
    received,
    relay_socket,
)
from tests.support.servers.commands import command
from tests.support.servers.ports import fixed_port

HARNESS = private_keys("harness").public


async def body_received(socket: DialledSocket) -> Body:
    return decode((await received(socket))[0]).body


async def is_closed(socket: DialledSocket) -> bool:
    async with asyncio.timeout(PATIENCE):
        while await socket.receive():
            pass
    return True


async def test_an_executor_and_a_harness_meet(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        registered, executor = await an_executor(rendezvous)
        answer = await rendezvous.as_("alice").connect("build-1", HARNESS)
        assert answer.executor_registration_id == registered.executor_registration_id
        harness = await relay_socket(answer)
        harness.send(a_frame(Resume(0)))
        assert await body_received(executor) == Resume(0)
        executor.send(a_frame(Data(0, b"sealed")))
        assert await body_received(harness) == Data(0, b"sealed")
        authorization = answer.harness_key_authorization
        ids = ("build-1", registered.executor_registration_id)
        assert await rendezvous.as_("ci").validate(*ids, HARNESS, authorization)
        assert not await rendezvous.as_("ci").validate(*ids, executor_keys().public, authorization)
        await harness.aclose()
        assert await body_received(executor) == Reset(GONE)
        await executor.aclose()


async def test_one_principal_cannot_register_reach_list_or_disturb_what_belongs_to_another(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        shared = await rendezvous.as_("ci").register("shared", executor_keys().public, "")
        theirs = await relay_socket(shared)
        _, executor = await an_executor(rendezvous)
        bob = rendezvous.as_("bob")
        for asked, code in (
            (bob.register("build-1", executor_keys().public, ""), "forbidden"),
            (bob.register("shared", executor_keys().public, ""), "environment_taken"),
            (bob.connect("build-1", HARNESS), "forbidden"),
            (bob.validate("build-1", "any", HARNESS, "any"), "forbidden"),
            (rendezvous.as_("alice").connect("shared", HARNESS), "forbidden"),
            (RegistryClient(rendezvous.url, "an-unknown-token").environments(), "unauthorized"),
            (RegistryClient(rendezvous.url, None).environments(), "unauthorized"),
        ):
            with pytest.raises(RegistryRefused) as caught:
                await asked
            assert caught.value.code == code
        seen = {
            name: [each.environment_id for each in await rendezvous.as_(name).environments()]
            for name in ("alice", "bob", "ci")
        }
        assert seen == {"alice": ["build-1"], "bob": ["shared"], "ci": ["build-1", "shared"]}
        alice = await relay_socket(await rendezvous.as_("alice").connect("build-1", HARNESS))
        alice.send(a_frame(Handshake(b"1")))
        assert await body_received(executor) == Handshake(b"1")
        stranger = await relay_socket(await bob.connect("shared", HARNESS))
        stranger.send(a_frame(Data(0, b"into the stream of alice")))
        assert await body_received(stranger) == Reset(UNKNOWN)
        executor.send(a_frame(Data(0, b"undisturbed")))
        assert await body_received(alice) == Data(0, b"undisturbed")
        for socket in (theirs, executor, alice, stranger):
            await socket.aclose()


async def test_an_environment_is_offline_while_its_executor_is_away(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        registered, executor = await an_executor(rendezvous)
        await executor.aclose()
        alice = rendezvous.as_("alice")
        await rendezvous.said(LEFT)
        with pytest.raises(RegistryRefused) as caught:
            await alice.connect("build-1", HARNESS)
        assert (caught.value.status, caught.value.code, caught.value.is_temporary) == (409, OFFLINE, True)
        again = await relay_socket(registered)
        assert (await alice.connect("build-1", HARNESS)).executor_registration_id == registered.executor_registration_id
        await again.aclose()


async def test_a_registration_survives_a_restart_and_a_signal_closes_the_sockets(tmp_path: Path) -> None:
    port = fixed_port()
    async with RunningRendezvous(tmp_path, port) as first:
        registered, executor = await an_executor(first)
        first.signal(signal.SIGTERM)
        assert await is_closed(executor)
        assert await first.exit_code() == 0
    async with RunningRendezvous(tmp_path, port) as second:
        executor = await relay_socket(registered)
        answer = await second.as_("alice").connect("build-1", HARNESS)
        assert answer.executor_registration_id == registered.executor_registration_id
        await executor.aclose()


async def test_urls_that_were_not_given_out_open_no_socket(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        registered, executor = await an_executor(rendezvous)
        for url in (registered.url + "x", registered.url.replace("executor", "harness"), registered.url[:-200]):
            with pytest.raises(HandshakeRefused) as caught:
                await relay_socket(msgspec.structs.replace(registered, url=url))
            assert 400 <= caught.value.status < 500
        await executor.aclose()


async def test_a_newer_executor_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, older = await an_executor(rendezvous)
        registered, newer = await an_executor(rendezvous)
        assert await is_closed(older)
        again = await relay_socket(registered)
        assert await is_closed(newer)
        answer = await rendezvous.as_("alice").connect("build-1", HARNESS)
        assert answer.executor_registration_id == registered.executor_registration_id
        await again.aclose()


async def test_a_harness_that_does_not_read_is_cut_off_while_others_continue(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        alice = rendezvous.as_("alice")
        slow, quick = [await relay_socket(await alice.connect("build-1", HARNESS)) for _ in range(2)]
        slow.send(a_frame(Handshake(b"1"), "slow"))
        quick.send(a_frame(Handshake(b"1"), "quick"))
        await received(executor, 2)
        big = a_frame(Data(0, bytes(200_000)), "slow")
        for _ in range(3 * MAX_WAITING // len(big)):  # the kernel's buffers take some megabytes
            executor.send(big)
            await executor.drain(1)
        executor.send(a_frame(Data(0, b"still here"), "quick"))
        assert await body_received(quick) == Data(0, b"still here")
        reset = decode((await received(executor))[0])
        assert (reset.stream_id, reset.body) == ("slow", Reset(GONE))
        assert await is_closed(slow)
        for socket in (executor, quick):
            await socket.aclose()


async def test_a_token_that_is_removed_closes_its_sockets(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        harness = await relay_socket(await rendezvous.as_("alice").connect("build-1", HARNESS))
        lines = rendezvous.tokens.read_text().splitlines()
        rendezvous.tokens.write_text("\n".join(line for line in lines if not line.startswith("alice")))
        assert await is_closed(harness)
        with pytest.raises(RegistryRefused, match="unknown token"):
            await rendezvous.as_("alice").environments()
        rendezvous.tokens.write_text("\n".join(line for line in lines if line.startswith("bob")))
        assert await is_closed(executor)


async def test_invalid_tokens_are_slowed_down(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        await rendezvous.as_("alice").environments()
        stranger = RegistryClient(rendezvous.url, "guessed")
        codes: set[int] = set()
        async with asyncio.timeout(PATIENCE):
            while codes != {401, 429}:  # the first ones are let through, so that a slow machine needs more
                asked = await asyncio.gather(*(stranger.environments() for _ in range(30)), return_exceptions=True)
                codes |= {each.status for each in asked if isinstance(each, RegistryRefused)}
        # A client that has been here before is not locked out by others at its address.
        *_, alice = await asyncio.gather(
            *(stranger.environments() for _ in range(30)),
            rendezvous.as_("alice").environments(),
            return_exceptions=True,
        )
        assert alice == []


async def test_a_token_that_was_valid_works_while_others_at_its_address_guess(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        await rendezvous.as_("alice").environments()
        stranger = RegistryClient(rendezvous.url, "guessed")
        async with asyncio.timeout(PATIENCE):
            is_slowed = False
            while not is_slowed:
                asked = await asyncio.gather(
                    *(stranger.environments() for _ in range(30)),
                    rendezvous.as_("alice").environments(),
                    return_exceptions=True,
                )
                assert asked.pop() == []
                is_slowed = any(isinstance(each, RegistryRefused) and each.status == 429 for each in asked)
            assert await rendezvous.as_("alice").environments() == []


async def test_principals_who_share_an_executor_cannot_touch_each_others_streams(tmp_path: Path) -> None:
    carol = "the-token-of-carol-for-tests"
    (tmp_path / "tokens").write_text(f"{TOKEN_FILE}\ncarol {carol} reach=build-*\n")
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        alice = await relay_socket(await rendezvous.as_("alice").connect("build-1", HARNESS))
        alice.send(a_frame(Handshake(b"of alice")))
        assert await body_received(executor) == Handshake(b"of alice")
        stranger = await relay_socket(await RegistryClient(rendezvous.url, carol).connect("build-1", HARNESS))
        for body in (Data(0, b"x"), Reset("x"), Resume(0), Resume(5), Ack(), Heartbeat(), Handshake(b"x")):
            stranger.send(a_frame(body))
        stranger.send(a_frame(Handshake(b"of carol"), "another stream"))
        passed = [decode(raw) for raw in await received(executor)]
        assert [(frame.stream_id, frame.body) for frame in passed] == [("another stream", Handshake(b"of carol"))]
        executor.send(a_frame(Data(0, b"for alice")))
        assert await body_received(alice) == Data(0, b"for alice")
        alice.send(a_frame(Data(0, b"undisturbed")))
        assert await body_received(executor) == Data(0, b"undisturbed")
        for socket in (executor, alice, stranger):
            await socket.aclose()


async def test_an_executor_cannot_speak_in_the_streams_of_another(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        bobs = await relay_socket(await rendezvous.as_("bob").register("bob-1", executor_keys().public, ""))
        alice = await relay_socket(await rendezvous.as_("alice").connect("build-1", HARNESS))
        alice.send(a_frame(Handshake(b"1")))
        assert await body_received(executor) == Handshake(b"1")
        for body in (Data(0, b"x"), Reset("x"), Resume(0), Handshake(b"x")):
            bobs.send(a_frame(body))
        bob = await relay_socket(await rendezvous.as_("bob").connect("bob-1", HARNESS))
        bob.send(a_frame(Handshake(b"2"), "of bob"))
        while (frame := decode((await received(bobs))[0])).stream_id != "of bob":
            assert frame.body == Reset(UNKNOWN)
        executor.send(a_frame(Data(0, b"the right one")))
        assert await body_received(alice) == Data(0, b"the right one")
        for socket in (executor, bobs, alice, bob):
            await socket.aclose()


async def test_a_principal_cannot_validate_for_an_executor_that_is_not_its_own(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        shared = await rendezvous.as_("ci").register("shared", executor_keys().public, "")
        theirs = await relay_socket(shared)
        answer = await rendezvous.as_("bob").connect("shared", HARNESS)
        ids = ("shared", shared.executor_registration_id)
        assert await rendezvous.as_("ci").validate(*ids, HARNESS, answer.harness_key_authorization)
        with pytest.raises(RegistryRefused) as caught:
            await rendezvous.as_("bob").validate(*ids, HARNESS, answer.harness_key_authorization)
        assert caught.value.status == 403
        await theirs.aclose()


@pytest.mark.parametrize(("what", "status"), [("register", 400), ("validate", 400), ("connect", 400), ("connect", 409)])
async def test_an_answer_of_the_registry_is_the_last_one_on_its_connection(
    tmp_path: Path, what: str, status: int
) -> None:
    body = msgspec.json.encode(Connect(public_key_object(HARNESS))) if status == 409 else b"{}"

    def asked(port: int) -> tuple[int, bool]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            headers = {"Authorization": f"Bearer {TOKENS['alice']}"}
            connection.request("POST", f"{BASE}/alice-1/{what}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.will_close

    async with RunningRendezvous(tmp_path) as rendezvous:
        if status == 409:
            await rendezvous.as_("alice").register("alice-1", executor_keys().public, "")
        assert await asyncio.to_thread(asked, rendezvous.port) == (status, True)


async def test_health_metrics_audit_and_the_command_environments(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        for path in ("/healthz", "/readyz"):
            answer = await asyncio.to_thread(urllib.request.urlopen, rendezvous.url + path, timeout=PATIENCE)
            with answer:
                assert answer.read() == b"ok\n"
        _, executor = await an_executor(rendezvous)
        token = tmp_path / "alice.token"
        token.write_text("the-token-of-alice-for-tests\n")
        flags = ("environments", "--rendezvous", rendezvous.url, "--token-file", str(token))
        shown = await asyncio.to_thread(command, tmp_path, *flags)
        assert "build-1" in shown.stdout
        assert "online" in shown.stdout
        assert "a builder" in shown.stdout
        shown = await asyncio.to_thread(command, tmp_path, *flags, "--json")
        (entry,) = msgspec.json.decode(shown.stdout)["environments"]
        assert (entry["environment_id"], entry["is_online"], entry["principal"]) == ("build-1", True, "ci")
        request = urllib.request.Request(
            rendezvous.url + "/metrics", headers={"Authorization": "Bearer " + token.read_text().strip()}
        )
        answer = await asyncio.to_thread(urllib.request.urlopen, request, timeout=PATIENCE)
        with answer:
            text = answer.read().decode()
        assert "codex_mcp_rendezvous_executors 1.0" in text
        assert 'codex_mcp_rendezvous_requests_total{request="register",status="200"} 1.0' in text
        with pytest.raises(RegistryRefused):
            await rendezvous.as_("bob").connect("build-1", HARNESS)
        await executor.aclose()
    entries = [msgspec.json.decode(line) for line in rendezvous.audit.read_text().splitlines()]
    assert [entry["event"] for entry in entries][:3] == ["register", "executor_connected", "connect_refused"]
    assert {entry["principal"] for entry in entries} == {"ci", "bob"}
    assert rendezvous.audit.stat().st_mode & 0o077 == 0
    secrets = [
        line.split()[1] for line in rendezvous.tokens.read_text().splitlines() if line and not line.startswith("#")
    ]
    assert not [secret for secret in secrets if secret in rendezvous.stderr]
    assert "/relay/" not in rendezvous.stderr


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--host", "0.0.0.0"), "without TLS"),
        (("--tls-cert", "cert.pem"), "both --tls-cert and --tls-key"),
        (("--tls-cert", "cert.pem", "--tls-key", "key.pem"), "cannot use the certificate"),
        (("--tokens", "missing"), "cannot use the token file"),
        (("--audit", "missing/audit"), "cannot write the audit"),
    ],
)
def test_what_is_unsafe_or_impossible_is_refused(tmp_path: Path, flags: tuple[str, ...], why: str) -> None:
    (tmp_path / "tokens").write_text("ci a-token-that-is-long-enough register=*\n")
    done = command(tmp_path, "rendezvous", "--port", "0", "--tokens", "tokens", *flags)
    assert done.returncode == 2
    assert why in done.stderr


async def test_text_and_garbage_are_skipped(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        harness = await relay_socket(await rendezvous.as_("alice").connect("build-1", HARNESS))
        for garbage in (b"", b"\xff", a_frame(Ack(), " ")):
            harness.send(garbage)
            executor.send(garbage)
        harness.send(a_frame(Handshake(b"1")))
        assert await body_received(executor) == Handshake(b"1")
        for socket in (executor, harness):
            await socket.aclose()
