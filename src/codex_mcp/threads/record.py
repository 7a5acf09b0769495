"""Pure. The record of a turn: collects facts as they arrive, and gives its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.base.settings.prices import Price, cost
from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    MessageStreamed,
    ResponseUsed,
    Tokens,
    TokensCounted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from codex_mcp.git.worktree import WorkDone
from codex_mcp.threads.token_meter import NONE, added

USAGE_LIMIT: Final = "usage_limit"
REFUSED_BY_ACCOUNT: Final = "usage_limit_exceeded"
CODES: Final = {
    REFUSED_BY_ACCOUNT: USAGE_LIMIT,
    "server_overloaded": "server_overloaded",
    "response_too_many_failed_attempts": "too_many_failures",
}
"""What results call the failures of an account or a provider, by Codex's own names. Others are told in words only."""

LONGEST_UNFINISHED: Final = 1024 * 1024
"""Characters kept of an unfinished message, more than a model writes at once."""


class Status(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class TurnError(Struct, frozen=True, omit_defaults=True):
    code: str
    """One of the values of `CODES`; `usage_limit` if the account has reached its limit."""
    kind: str = ""
    """Which limit, if Codex says so: workspace_owner_credits_depleted and the like."""
    resets_at: int | None = None
    """When the limit ends, in seconds since the epoch, if that is known."""


class Outcome(Struct, frozen=True):
    """The result of a turn; with status RUNNING, the result so far."""

    thread_id: str
    status: Status
    content: str
    """The last message of the agent; for an interrupted turn also what it was saying; for a failed one the reason."""
    activity: str
    """What it is doing, or was doing last."""
    usage: Tokens | None
    """Tokens of this turn alone."""
    files: tuple[FileChange, ...]
    seconds: float
    error: TurnError | None = None
    """What kind of failure it was, if the core says so."""
    cost: float | None = None
    """What its tokens cost; None if the price of its model is not known."""
    warnings: tuple[str, ...] = ()
    """Sentences that the caller must know besides the answer."""
    work: WorkDone | None = None
    """What was done in the agent's worktree, since it began."""
    earlier: Tokens | None = None
    """Tokens of the turns of a goal before it, of which no caller was told."""
    earlier_cost: float | None = None

    @property
    def usage_to_tell(self) -> Tokens | None:
        return added(self.usage, NONE if self.earlier is None else self.earlier)

    @property
    def cost_to_tell(self) -> float | None:
        costs = [each for each in (self.cost, self.earlier_cost) if each is not None]
        return sum(costs) if costs else None


class Stopped(Struct, frozen=True):
    """What was stopped besides the turn of a caller."""

    goals: tuple[str, ...] = ()
    turns: int = 0

    def __bool__(self) -> bool:
        return bool(self.goals or self.turns)


class Record:
    def __init__(self, now: float, *, is_review: bool = False) -> None:
        self.began = now
        self._is_review = is_review
        self.activity = "starting"
        self.failure: str | None = None
        """Why it failed, without anything that the agent said: what a log may have."""
        self._last_words = ""
        self.warnings: tuple[str, ...] = ()
        self.timed_out = False
        self._stopped_because: str | None = None
        self._out_of_time = False
        self._spoiled: str | None = None
        self.trouble = ""
        """Why the model cannot be reached, while the core retries."""
        self._where = ""
        self._message = ""
        self._unfinished: list[str] = []
        self._unfinished_item = ""
        self._unfinished_length = 0
        self._status = Status.RUNNING
        self.has_begun = False
        """The core has announced its start."""
        self._usage: Tokens | None = None
        self._earlier: Tokens | None = None
        self._price: Price | None = None
        self._code = ""
        self._files: dict[str, FileChange] = {}
        self._work: WorkDone | None = None
        self._commands: dict[str, None] = {}  # an ordered set
        self.commands: set[str] = set()
        """Item ids of all commands, running or ended."""

    def set_activity(self, activity: str) -> None:
        self.activity = activity

    def locate(self, where: str) -> None:
        """Where the model is looked for, as a part of a sentence."""
        self._where = where
        if self.trouble:
            self.trouble = self.activity = f"{self.trouble}; {where}"

    @property
    def has_heard_model(self) -> bool:
        """The model has answered something."""
        return bool(self._usage or self._message or self._unfinished or self.commands)

    def set_price(self, price: Price | None) -> None:
        self._price = price

    def warn(self, warnings: Iterable[str]) -> None:
        self.warnings = tuple(warnings)

    @property
    def tokens(self) -> int:
        """Used so far."""
        return 0 if self._usage is None else self._usage.total_tokens

    def follows(self, earlier: Tokens | None) -> None:
        """Turns before it have used these tokens, and no caller is told of those turns."""
        self._earlier = earlier

    def add_usage(self, used: Tokens) -> None:
        """A sub-agent has used these tokens."""
        self._usage = added(self._usage, used)

    def looked(self, files: Iterable[FileChange], work: WorkDone | None, warning: str | None = None) -> None:
        """The checkout was looked at after the turn. Of a file that was also patched, the patches count."""
        for change in files:
            self._files.setdefault(change.path, change)
        self._work = work
        self.warnings = self.warnings if warning is None else (*self.warnings, warning)

    @property
    def has_changed_files(self) -> bool:
        return bool(self.commands or self._files)

    @property
    def running_commands(self) -> list[str]:
        """Item ids of commands that have not ended; some may still wait for approval."""
        return list(self._commands)

    def add(self, fact: Fact) -> None:
        if not isinstance(fact, TokensCounted):  # also reported while the model is unreachable
            self.trouble = _trouble(fact, self._where) if isinstance(fact, ErrorReported) else ""
        match fact:
            case MessageStreamed(item_id=item, delta=delta):
                if item != self._unfinished_item:
                    self._begin_message(item)
                if self._unfinished_length < LONGEST_UNFINISHED:
                    self._unfinished.append(delta)
                    self._unfinished_length += len(delta)
            case MessageSaid(text=text):
                self._begin_message("")
                self._message = text
            case TurnStarted():
                self.has_begun = True
                self.activity = "thinking"
            case TokensCounted(last=used) | ResponseUsed(tokens=used) if self._is_counted(fact):
                self._usage = added(self._usage, used)
            case ErrorReported(message=message, will_retry=is_retried):
                self.activity = self.trouble or self.activity
                self.failure = self.failure if is_retried else message
            case TurnEnded(status=status, error=error, code=code):
                self._ended(status, error)
                self._code = code
            case _:
                self._item_told(fact)

    def _item_told(self, fact: Fact) -> None:
        match fact:
            case CommandStarted(item_id=item, command=command):
                self._commands[item] = None
                self.commands.add(item)
                self.activity = f"running {command}"
            case ToolStarted(activity=activity):
                self.activity = activity
            case ItemEnded(item_id=item):
                self._commands.pop(item, None)
            case FilesChanged(changes=changes):
                for change in changes:
                    self._files[change.path] = _merged(self._files.get(change.path), change)

    def _begin_message(self, item: str) -> None:
        self._unfinished, self._unfinished_item, self._unfinished_length = [], item, 0

    def _is_counted(self, fact: Fact) -> bool:
        if isinstance(fact, ResponseUsed):
            return self._is_review
        # A resumed thread reports the usage of its last turn again, perhaps after the next turn was submitted.
        return self.has_begun

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
        """It is about to be stopped for this reason, not because its caller cancelled it."""
        self._stopped_because = why
        self._out_of_time = out_of_time

    def out_of_time(self, seconds: float) -> None:
        self.stop_because(f"the turn was stopped after {seconds:g} seconds, which is its time limit.", out_of_time=True)

    def out_of_reach(self, seconds: float) -> None:
        self.stop_because(f"Codex could not reach the model for {seconds:g} seconds: {self.trouble}.")

    @property
    def unfinished(self) -> tuple[str, str]:
        """The item of the message that the agent is writing, and what it has so far."""
        return self._unfinished_item, "".join(self._unfinished)

    @property
    def is_running(self) -> bool:
        return self._status is Status.RUNNING

    @property
    def is_spoiled(self) -> bool:
        return self._spoiled is not None

    def spoil(self, why: str) -> None:
        """A message of the core about it is lost: however it ends, it has failed for this reason."""
        self._spoiled = self._spoiled or why

    def interrupt(self) -> None:
        """It was stopped, whatever the core may still report."""
        if self._spoiled is not None:
            self.fail(self._spoiled)
        elif self._stopped_because is None:
            self._status = Status.INTERRUPTED
        else:
            said = f" Its last message: {self._message}" if self._message else ""
            unfinished = "".join(self._unfinished)
            saying = f" Its unfinished message: {unfinished}" if unfinished else ""
            self.fail(self._stopped_because)
            self._last_words = said + saying
            self.timed_out = self._out_of_time

    def refused_by_account(self) -> None:
        """It fails because the account has reached its limit, and no request was made."""
        self._code = REFUSED_BY_ACCOUNT

    def fail(self, why: str) -> None:
        self._status = Status.FAILED
        self.failure = why

    def outcome(self, thread_id: str, now: float) -> Outcome:
        content = self._message
        if self._status is Status.FAILED:
            content = f"{self.failure or ''}{self._last_words}"
        elif self._status is Status.INTERRUPTED:
            content = "\n\n".join(said for said in (self._message, "".join(self._unfinished)) if said)
        return Outcome(
            thread_id=thread_id,
            status=self._status,
            content=content,
            activity=self.activity,
            usage=self._usage,
            files=tuple(change for change in self._files.values() if change.kind),
            seconds=now - self.began,
            error=TurnError(CODES[self._code]) if self._code in CODES else None,
            cost=self._cost(self._usage),
            warnings=self.warnings,
            work=self._work,
            earlier=self._earlier,
            earlier_cost=self._cost(self._earlier),
        )

    def _cost(self, used: Tokens | None) -> float | None:
        if used is None or self._price is None:
            return None
        return cost(self._price, used.input_tokens, used.cached_input_tokens, used.output_tokens)


def _trouble(error: ErrorReported, where: str) -> str:
    """Why the core retries its request to the model; empty if it does not."""
    if not error.will_retry:
        return ""
    message, details = error.message, error.details
    said = f"{message} ({details})" if details and details not in message else message
    return f"{said}; {where}" if where else said


def _merged(before: FileChange | None, now: FileChange) -> FileChange:
    """The combined effect of two changes of one file in one turn; the kind "" means none."""
    if before is None:
        return now
    match before.kind, now.kind:
        case "add", "delete":
            kind = ""
        case "add", _:
            kind = "add"
        case "delete", "add":
            kind = "update"
        case _:
            kind = now.kind
    return FileChange(now.path, kind, _sum(before.added, now.added), _sum(before.removed, now.removed))


def _sum(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else before + now
