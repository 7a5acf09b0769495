"""Errors of calls, as they are raised and as they are written."""

from msgspec import UNSET

from codex_mcp.rpc.errors import RequestFailed, invalid_params, request_failed
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, ErrorObject


def test_a_failed_request_is_read_as_its_message_and_written_as_its_error() -> None:
    error = request_failed(-5, "no such thing", {"name": "x"})
    assert isinstance(error, RequestFailed)
    assert str(error) == "no such thing"
    assert error.error == ErrorObject(-5, "no such thing", {"name": "x"})
    assert request_failed(-5, "no").error.data is UNSET


def test_parameters_that_do_not_fit_have_their_own_code() -> None:
    assert invalid_params("a prompt is missing").error == ErrorObject(
        INVALID_PARAMS, "Invalid params: a prompt is missing"
    )
