"""Private keys of an executor or a harness: made for this process, or kept in a file that only its user can read."""

from __future__ import annotations

import secrets

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private, read_if_there, write_whole
from codex_mcp.relay.handshake import Fresh, Introduction, Responder
from codex_mcp.relay.keys import SEED_BYTES, PrivateKeys, encapsulate


def new_keys() -> PrivateKeys:
    return PrivateKeys(secrets.token_bytes(SEED_BYTES))


def kept_keys(path: str) -> PrivateKeys:
    """The keys in this file, which is made at first use. Raises Refused."""
    try:
        seed = read_if_there(path)
        if seed is None:
            seed = secrets.token_bytes(SEED_BYTES)
            write_whole(path, seed)
        make_private(path)
    except OSError as exc:
        raise Refused(f"cannot keep the identity in {path}: {exc.strerror}; choose another --identity-file") from exc
    if len(seed) != SEED_BYTES:
        raise Refused(f"cannot use {path}: it is not an identity file of codex-mcp; choose another --identity-file")
    return PrivateKeys(seed)


def fresh(responder: Responder, introduction: Introduction) -> Fresh:
    """What an executor draws for one handshake. Raises RelayError if the harness's keys cannot be used."""
    return Fresh(new_keys(), encapsulate(responder.ephemeral.mlkem), encapsulate(introduction.harness.mlkem))
