"""Pure. What can go wrong with a call, for those who catch it."""

from __future__ import annotations

from msgspec import UNSET

from codex_mcp.wire.jsonrpc import INVALID_PARAMS, ErrorObject


class RequestFailed(Exception):
    """A handler's way to answer with an error, and a caller's way to learn of one."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(error.message)
        self.error = error


class AnswerTooLong(RequestFailed):
    """The other end has answered, and the answer is longer than what is read."""


class ConnectionLost(Exception):
    """The other end is gone; what was asked will never be answered."""


def request_failed(code: int, message: str, data: object = UNSET) -> RequestFailed:
    """The exception for an error answer."""
    return RequestFailed(ErrorObject(code, message, data))


def invalid_params(message: str) -> RequestFailed:
    """The exception for parameters that do not fit."""
    return request_failed(INVALID_PARAMS, f"Invalid params: {message}")
