"""Pure. The errors of this package."""

from __future__ import annotations

from typing import Final

PROTOCOL_ERROR: Final = "noise_relay_protocol_error"
"""The reason of a reset after any failure. It tells an attacker nothing; the log has the details."""

UNREADABLE: Final = (ValueError, RecursionError)
"""The errors of decoding JSON: msgspec's and those of bad UTF-8 are ValueErrors; deep nesting is a RecursionError."""


class RelayError(Exception):
    """The other side or the relay broke the protocol, or the stream ended. The text says what happened."""


class StreamReset(RelayError):
    """The other side, or the relay, ended the stream. It needs no reset in return."""
