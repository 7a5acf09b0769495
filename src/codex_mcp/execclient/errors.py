"""Pure. The errors that a client of an exec-server raises."""

from __future__ import annotations

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign


class ExecServerError(Refused):
    """The base class of all errors of this package."""


class CannotConnect(ExecServerError):
    """No exec-server answers at this address."""


class RequestRefused(ExecServerError):
    """The server answered with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        self.message = foreign(message)
        super().__init__(f"cannot do {method}: {self.message} (code {code})")
        self.method = method
        self.code = code


class PathNotFound(RequestRefused):
    """The server has no such file or directory."""


class OutcomeUnknown(ExecServerError):
    """The connection was lost before the answer: the request may or may not have been done. It is not repeated."""


class SessionLost(ExecServerError):
    """The session was not resumed in time, or the client was closed."""


class NotOffered(ExecServerError):
    """The server does not announce this capability."""


class BodyLost(ExecServerError):
    """The rest of a streamed HTTP body cannot be read; other requests are not affected."""


class ProcessLost(ExecServerError):
    """One process can no longer be followed; other processes and the connection are not affected."""


class EventGap(ProcessLost):
    """Events of a process are missing, and the server no longer has them."""

    def __init__(self, process_id: str, missing: int, through: int) -> None:
        super().__init__(
            f"cannot follow process {process_id}: its event {missing} is missing, and the server no longer has all "
            f"events through {through}; read its output while it runs, or let it write less at once"
        )
        self.process_id = process_id
        self.missing = missing
        self.through = through


class OutputUnread(ProcessLost):
    """A process has more unread output than is kept."""

    def __init__(self, process_id: str, limit: int) -> None:
        super().__init__(
            f"cannot keep more than {limit} bytes of unread output of process {process_id}; iterate over events()"
        )
        self.process_id = process_id
