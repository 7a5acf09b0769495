"""Pure. What can go wrong with a call."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from codex_mcp.wire.jsonrpc import INVALID_PARAMS, ErrorObject


class RequestFailed(Exception):
    """An error answer: a handler raises it to send one, a caller catches it when one arrives."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(error.message)
        self.error = error


class AnswerTooLong(RequestFailed):
    """The answer exceeds the size limit."""


class ConnectionLost(Exception):
    """The other end is gone; there will be no answer."""


def request_failed(code: int, message: str, data: object = UNSET) -> RequestFailed:
    return RequestFailed(ErrorObject(code, message, data))


INVALID: Final = "Invalid params: "


def invalid_params(message: str) -> RequestFailed:
    return request_failed(INVALID_PARAMS, INVALID + message)
