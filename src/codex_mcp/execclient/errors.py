"""Pure. What can go wrong on an exec-server, for those who catch it."""

from __future__ import annotations

from codex_mcp.base.errors import Refused


class ExecServerError(Refused):
    """The root: whatever an exec-server or the way to it refuses or loses."""


class CannotConnect(ExecServerError):
    """Nobody answers at this address, or not as an exec-server does."""


class RequestRefused(ExecServerError):
    """The server answered with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"cannot do {method}: {message} (code {code})")
        self.method = method
        self.code = code
        self.message = message


class PathNotFound(RequestRefused):
    """The server has no such file or directory."""


class OutcomeUnknown(ExecServerError):
    """The connection was lost while a request was on its way: it was done, or it was not. Requests are not repeated."""


class SessionLost(ExecServerError):
    """The session is over: it could not be resumed in time, or the client was closed."""


class NotOffered(ExecServerError):
    """This server does not announce what was asked for."""


class ProcessLost(ExecServerError):
    """One process cannot be followed any longer; the others and the connection are not concerned."""


class EventGap(ProcessLost):
    """Events of a process are missing that the server does not retain any longer."""

    def __init__(self, process_id: str, missing: int, through: int) -> None:
        super().__init__(
            f"cannot follow process {process_id} any longer: its event {missing} is missing, and the server does not "
            f"retain all events through {through}; read its output while it runs, or let it say less at once"
        )
        self.process_id = process_id
        self.missing = missing
        self.through = through


class OutputUnread(ProcessLost):
    """More output came than is kept for a reader that does not read."""

    def __init__(self, process_id: str, limit: int) -> None:
        super().__init__(
            f"cannot keep more than {limit} bytes of process {process_id} that nobody reads; iterate over events()"
        )
        self.process_id = process_id
