"""Keys, places and recorded handshakes for tests of the relay."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from codex_mcp.relay.handshake import Ciphers, Fresh, Initiator, Place, Responder
from codex_mcp.relay.keys import SEED_BYTES, Encapsulation, PrivateKeys, encapsulate
from codex_mcp.relay.symmetric import CipherState

PLACE = Place("env-1", "registration-1", "4b3e0a52-7f0e-4c5e-9a53-5d6f6f1f7a01")

RECORDINGS = Path(__file__).parents[1] / "relay" / "recordings"


def private_keys(name: str) -> PrivateKeys:
    """The same keys for the same name in every run."""
    return PrivateKeys(hashlib.shake_256(name.encode()).digest(SEED_BYTES))


def recording(name: str) -> Any:
    """A handshake with Codex 0.166.0, with our private keys and what we drew for it."""
    return json.loads((RECORDINGS / f"{name}_0_166_0.json").read_text())


def raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def encapsulation(secret: str, ciphertext: str) -> Encapsulation:
    return Encapsulation(raw(secret), raw(ciphertext))


def fresh_for(responder: Responder, harness_mlkem: bytes, name: str = "executor's ephemeral") -> Fresh:
    return Fresh(private_keys(name), encapsulate(responder.ephemeral.mlkem), encapsulate(harness_mlkem))


def first_message(place: Place = PLACE, authorization: str = "token") -> tuple[Initiator, bytes]:
    executor = private_keys("executor").public
    initiator = Initiator(private_keys("harness"), executor, place)
    return initiator, initiator.first(authorization, private_keys("ephemeral"), encapsulate(executor.mlkem))


def shaken(place: Place = PLACE) -> tuple[Ciphers, Ciphers]:
    """The ciphers of the harness and of the executor after a handshake."""
    initiator, first = first_message(place)
    responder = Responder(private_keys("executor"), place)
    introduction = responder.read(first)
    second, executor = responder.answer(fresh_for(responder, introduction.harness.mlkem))
    return initiator.finish(second), executor


def paired_ciphers(seed: bytes = b"") -> tuple[Ciphers, Ciphers]:
    """Ciphers as after a handshake, without the work of one."""
    first, second = (hashlib.sha256(seed + name).digest() for name in (b"first", b"second"))
    return Ciphers(CipherState(first), CipherState(second)), Ciphers(CipherState(second), CipherState(first))
