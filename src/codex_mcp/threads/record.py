"""Pure. What a turn has come to so far, told fact by fact, and its outcome at the end."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    Tokens,
    TokensCounted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)


class Status(StrEnum):
    """How a turn stands, in words for clients."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Outcome(Struct, frozen=True):
    """What a turn came to; with status RUNNING, what it has come to so far."""

    thread_id: str
    status: Status
    content: str
    """The last message of the agent; of a failed turn, why it failed."""
    activity: str
    """What it is doing, or was doing last."""
    usage: Tokens | None
    """Tokens of this turn alone."""
    files: tuple[FileChange, ...]
    seconds: float


class Record:
    """The growing record of one turn."""

    def __init__(self, now: float) -> None:
        self.began = now
        self.activity = "starting"
        self.failure: str | None = None
        self.timed_out = False
        """It was stopped because its time was up."""
        self._stopped_because: str | None = None
        self._out_of_time = False
        self._spoiled: str | None = None
        self._message = ""
        self._status = Status.RUNNING
        self._has_begun = False
        self._usage: Tokens | None = None
        self._files: dict[str, str] = {}
        self._commands: dict[str, None] = {}  # a set that keeps its order

    @property
    def running_commands(self) -> list[str]:
        """Item ids of commands that have not ended; some of them may still wait for their approval."""
        return list(self._commands)

    def add(self, fact: Fact) -> None:
        """Something happened."""
        match fact:
            case MessageSaid(text=text):
                self._message = text
            case CommandStarted(item_id=item):
                self._commands[item] = None
            case ItemEnded(item_id=item):
                self._commands.pop(item, None)
            case FilesChanged(changes=changes):
                for change in changes:
                    self._files[change.path] = _merged(self._files.get(change.path), change.kind)
            case TurnStarted():
                self._has_begun = True
            # A resumed thread tells once more what its last turn used, maybe when the next one is asked for already.
            case TokensCounted(last=last) if self._has_begun:
                self._usage = last if self._usage is None else _sum(self._usage, last)
            case ErrorReported(message=message, will_retry=False):
                self.failure = message
            case TurnEnded(status=status, error=error):
                self._ended(status, error)
        self.activity = _activity(fact) or self.activity

    def _ended(self, status: str, error: str | None) -> None:
        match status:
            case _ if self._spoiled is not None:
                self.fail(self._spoiled)
            case "completed":
                self._status = Status.COMPLETED
            case "interrupted":
                self.interrupt()
            case _:
                self._status = Status.FAILED
                self.failure = error or self.failure or "the turn failed, and Codex did not say why"

    def stop_because(self, why: str, *, out_of_time: bool = False) -> None:
        """It is about to be stopped, and this is why: not because its caller does not want it any longer."""
        self._stopped_because = why
        self._out_of_time = out_of_time

    @property
    def is_spoiled(self) -> bool:
        """Its outcome cannot be known any longer."""
        return self._spoiled is not None

    def spoil(self, why: str) -> None:
        """Part of what the core said of it is lost, for this reason: however it ends, it has failed."""
        self._spoiled = self._spoiled or why

    def interrupt(self) -> None:
        """It was stopped, whatever the core may still say."""
        if self._spoiled is not None:
            self.fail(self._spoiled)
        elif self._stopped_because is None:
            self._status = Status.INTERRUPTED
        else:
            so_far = f" Its last message: {self._message}" if self._message else ""
            self.fail(f"{self._stopped_because}{so_far}")
            self.timed_out = self._out_of_time

    def fail(self, why: str) -> None:
        """It cannot go on."""
        self._status = Status.FAILED
        self.failure = why

    def outcome(self, thread_id: str, now: float) -> Outcome:
        """The turn as it stands."""
        content = self._message
        if self._status is Status.FAILED:
            content = self.failure or ""
        return Outcome(
            thread_id=thread_id,
            status=self._status,
            content=content,
            activity=self.activity,
            usage=self._usage,
            files=tuple(FileChange(path, kind) for path, kind in self._files.items() if kind),
            seconds=now - self.began,
        )


def _activity(fact: Fact) -> str | None:
    """What the agent does from now on, if this fact tells."""
    match fact:
        case TurnStarted():
            return "thinking"
        case CommandStarted(command=command):
            return f"running {command}"
        case ToolStarted(activity=activity):
            return activity
        case ErrorReported(message=message, will_retry=True):
            return message
        case _:
            return None


def _sum(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(
        input_tokens=one.input_tokens + other.input_tokens,
        cached_input_tokens=one.cached_input_tokens + other.cached_input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        reasoning_output_tokens=one.reasoning_output_tokens + other.reasoning_output_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
    )


def _merged(before: str | None, now: str) -> str:
    """What two changes of one file in one turn amount to; "" means nothing."""
    match before, now:
        case "add", "delete":
            return ""
        case "add", _:
            return "add"
        case "delete", "add":
            return "update"
        case _:
            return now
