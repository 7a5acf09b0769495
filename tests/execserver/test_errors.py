import errno
import os

import pytest

from codex_mcp.execserver.errors import already_attached, file_error, not_found, unknown_method
from codex_mcp.wire.exec.protocol import ALREADY_ATTACHED, NOT_FOUND


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (errno.ENOENT, NOT_FOUND, "No such file or directory (os error 2)"),
        (errno.EACCES, -32600, "Permission denied (os error 13)"),
        (errno.EINVAL, -32600, "Invalid argument (os error 22)"),
        (errno.EEXIST, -32603, "File exists (os error 17)"),
        (errno.ELOOP, -32603, "Symbolic link loop (os error 40)"),
        (errno.EROFS, -32603, "Read-only file system (os error 30)"),
    ],
)
def test_the_operating_systems_errors_have_codes(number: int, code: int, text: str) -> None:
    error = file_error(OSError(number, os.strerror(number))).error
    assert (error.code, error.message) == (code, text)


def test_an_error_of_python_itself_is_told_in_its_own_words() -> None:
    assert file_error(OSError("cannot do it")).error.message == "cannot do it"
    assert file_error(TimeoutError()).error.message == "TimeoutError"


def test_the_protocols_own_errors_have_theirs() -> None:
    assert already_attached("s").error.code == ALREADY_ATTACHED
    assert not_found("x").error.code == NOT_FOUND
    assert unknown_method("no/such").error.message == "exec-server stub does not implement `no/such` yet"
