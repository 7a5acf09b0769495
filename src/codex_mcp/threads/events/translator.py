"""Pure. Makes the `codex/event` stream of 0.153.4 from the app-server's messages about one thread.

The order is the app-server's, with three corrections. Commands and patches begin after the answer, not before the
question (see `item_life`). A token_count waits for the rate limits, which follow it, or for the next message.
A turn_diff is sent once per distinct diff. item_* and raw_* events are sent only if `full`.

`docs/events.md` lists the events and the differences from 0.153.4. A message that cannot be read has no event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from codex_mcp.codex.core import Event, Told
from codex_mcp.threads.events import items as item_events
from codex_mcp.threads.events import questions, spelling, texts
from codex_mcp.threads.events.commands import did_run
from codex_mcp.threads.events.item_life import Items, Known, Life
from codex_mcp.threads.events.items import changes as changes_by_path
from codex_mcp.threads.events.items import item_completed, item_started
from codex_mcp.threads.events.session import RENAMED, Startup, renamed, session_configured
from codex_mcp.wire.app import items, notifications
from codex_mcp.wire.app.items import UNREADABLE
from codex_mcp.wire.app.questions import (
    Asked,
    CommandApproval,
    FileChangeApproval,
    PermissionsApproval,
    ServerElicitation,
    ToolCallRequest,
    UserInputRequest,
)
from codex_mcp.wire.app.requests import ThreadOpened

NOISY: Final = ("item_", "raw_")
"""Prefixes of event types that are sent only if `full`."""


class EventTranslator:
    """The events of one thread, from all its messages in order and account/rateLimits/updated."""

    def __init__(self, thread_id: str, *, full: bool = False) -> None:
        self._thread_id = thread_id
        self._full = full
        self._items = Items()
        self._startup = Startup()
        self._turn_id = ""
        self._mode = "default"
        self._last_message: str | None = None
        self._diff = ""
        self._context_window: object = None
        self._rate_limits: dict[str, object] | None = None
        self._usage: notifications.UsageUpdated | None = None
        self._has_had_a_turn = False
        self.plan: notifications.PlanUpdated | None = None
        """The last one of the thread."""
        self.usage: notifications.UsageUpdated | None = None

    def running_items(self) -> list[items.Item]:
        """Those that have begun, or wait for an answer, and have not ended."""
        return [known.note.item for known in self._items]

    def turn_starts(self, *, full: bool) -> None:
        """`full`: the next turn has item_* and raw_* events."""
        self._full = full

    def thread_opened(self, opened: ThreadOpened | None) -> list[Event]:
        """The answer to thread/start or thread/resume. Earlier messages about the thread follow it."""
        if opened is None or opened.sandbox is None:
            return []
        if opened.collaboration_mode is not None:
            self._mode = opened.collaboration_mode.mode
        return [Event("", session_configured(opened))]

    def told(self, told: Told | Asked) -> list[Event]:
        """A notification or a request of the app-server. (An old Codex announces its questions itself.)"""
        note: Any = told
        says, handle = _SAYS.get(type(told)), _HANDLERS.get(type(told))
        if isinstance(told, notifications.OtherNotification) and told.method not in RENAMED:
            return []
        usage = self._usage
        try:
            if says is not None:
                events = [Event(note.turn_id, says(note))]
            elif handle is not None:
                events = handle(self, note)
            else:
                return []
        except UNREADABLE:
            return []
        if usage is None:
            return events
        if self._usage is usage:
            self._usage = None
        return [self._token_count(usage), *events]

    def answered(self, asked: Asked, *, approved: bool) -> list[Event]:
        """An approved item begins; any other completes as declined."""
        if not approved or not isinstance(asked, CommandApproval | FileChangeApproval):
            return []
        return self._runs(asked.item_id)

    def changes_of(self, item_id: str) -> dict[str, object] | None:
        """The patch that a question is about, by absolute path."""
        known = self._items.find(item_id)
        if known is None or not isinstance(known.note.item, items.FileChange):
            return None
        return changes_by_path(known.note.item.changes)

    def _item_started(self, note: notifications.ItemStarted) -> list[Event]:
        match note.item:
            case items.CommandExecution(process_id=None, source="agent") | items.FileChange():
                self._items.started(note, waiting=True)
                return []
            case _:
                begun = self._items.started(note, waiting=False)
                return [] if begun is None else self._begin(begun)

    def _runs(self, item_id: str) -> list[Event]:
        begun = self._items.runs(item_id)
        return [] if begun is None else self._begin(begun)

    def _begin(self, note: notifications.ItemStarted, *, auto_approved: bool = False) -> list[Event]:
        events: list[Event] = []
        if self._full:
            events.append(Event(note.turn_id, item_started(note, self._thread_id, auto_approved=auto_approved)))
        msg = item_events.begin(note, auto_approved=auto_approved)
        return events if msg is None else [*events, Event(note.turn_id, msg)]

    def _item_completed(self, note: notifications.ItemCompleted) -> list[Event]:
        item = note.item
        known = self._items.completed(item.id)
        begun = known is not None and known.life is Life.BEGUN
        events: list[Event] = []
        if not begun:
            if isinstance(item, items.CommandExecution) and not did_run(item):
                return []
            if not _refused(item, known):
                asked = known is not None and known.life is Life.ASKED
                events += self._begin(_start_of(note, known), auto_approved=not asked)
        if self._full:
            events.append(Event(note.turn_id, item_completed(note, self._thread_id)))
        if isinstance(item, items.AgentMessage):
            self._last_message = item.text
        return events + [Event(note.turn_id, msg) for msg in item_events.end(note)]

    def _patch_updated(self, note: notifications.PatchUpdated) -> list[Event]:
        self._items.patched(note.item_id, note.changes)
        changes = changes_by_path(note.changes)
        return [Event(note.turn_id, {"type": "patch_apply_updated", "call_id": note.item_id, "changes": changes})]

    def _output_delta(self, note: notifications.OutputDelta) -> list[Event]:
        return [*self._runs(note.item_id), Event(note.turn_id, texts.output_delta(note))]

    def _terminal_input(self, note: notifications.TerminalInput) -> list[Event]:
        return [*self._runs(note.item_id), Event(note.turn_id, texts.terminal_input(note))]

    def _turn_started(self, note: notifications.TurnStarted) -> list[Event]:
        turn = note.turn
        self._items.turn_ended()  # in case the last core died in the middle of a turn
        self._turn_id, self._last_message, self._diff = turn.id, None, ""
        self._has_had_a_turn = True
        msg = {
            "type": "task_started",
            "turn_id": turn.id,
            **spelling.present(started_at=turn.started_at),
            "model_context_window": self._context_window,
            "collaboration_mode_kind": self._mode,
        }
        return [*(Event("", each) for each in self._startup.turn_started()), Event(turn.id, msg)]

    def _turn_completed(self, note: notifications.TurnCompleted) -> list[Event]:
        turn = note.turn
        times = spelling.present(
            started_at=turn.started_at, completed_at=turn.completed_at, duration_ms=turn.duration_ms
        )
        if turn.status == "interrupted":
            msg: dict[str, object] = {"type": "turn_aborted", "turn_id": turn.id, "reason": "interrupted", **times}
        else:
            error = None if turn.error is None else spelling.error(turn.error)
            said = {"last_agent_message": self._last_message, **spelling.present(error=error)}
            msg = {"type": "task_complete", "turn_id": turn.id, **said, **times}
        self._turn_id, self._last_message, self._diff = "", None, ""
        self._items.turn_ended()
        return [Event(turn.id, msg)]

    def _diff_updated(self, note: notifications.DiffUpdated) -> list[Event]:
        if note.diff == self._diff:
            return []
        self._diff = note.diff
        return [Event(note.turn_id, {"type": "turn_diff", "unified_diff": note.diff})]

    def _usage_updated(self, note: notifications.UsageUpdated) -> list[Event]:
        self._context_window, self.usage = note.token_usage.model_context_window, note
        if self._has_had_a_turn:  # else a resumed thread repeats what its last turn used
            self._usage = note
        return []

    def _limits_updated(self, note: notifications.RateLimitsUpdated) -> list[Event]:
        self._rate_limits = spelling.rate_limits(note.rate_limits)
        return []

    def _token_count(self, note: notifications.UsageUpdated) -> Event:
        info = spelling.token_info(note.token_usage)
        return Event(note.turn_id, {"type": "token_count", "info": info, "rate_limits": self._rate_limits})

    def _plan_updated(self, note: notifications.PlanUpdated) -> list[Event]:
        self.plan = note
        return [Event(note.turn_id, texts.plan_update(note))]

    def _settings_updated(self, note: notifications.SettingsUpdated) -> list[Event]:
        self._mode = note.thread_settings.collaboration_mode.mode
        return []

    def _server_status(self, note: notifications.ServerStatusUpdated) -> list[Event]:
        return [Event("", msg) for msg in self._startup.status(note)]

    def _old_event(self, event: Event) -> list[Event]:
        noisy = str(event.msg.get("type", "")).startswith(NOISY)
        return [] if noisy and not self._full else [event]

    def _renamed(self, note: notifications.OtherNotification) -> list[Event]:
        turn_id = note.params.get("turnId")
        return [Event(turn_id if isinstance(turn_id, str) else self._turn_id, renamed(note))]

    def _raw_item(self, note: notifications.RawItemCompleted) -> list[Event]:
        return [Event(note.turn_id, {"type": "raw_response_item", "item": note.item})] if self._full else []

    def _raw_completed(self, note: notifications.RawResponseCompleted) -> list[Event]:
        if not self._full:
            return []
        usage = None if note.usage is None else spelling.tokens(note.usage)
        msg = {"type": "raw_response_completed", "response_id": note.response_id, "token_usage": usage}
        return [Event(note.turn_id, {**msg, "usage_metadata": note.usage_metadata})]

    def _ask_command(self, question: CommandApproval) -> list[Event]:
        self._items.asked(question.item_id)
        known = self._items.find(question.item_id)
        item = known.note.item if known is not None else None
        command = item if isinstance(item, items.CommandExecution) else items.CommandExecution(question.item_id)
        return [Event(question.turn_id, questions.exec_approval_request(question, command))]

    def _ask_patch(self, question: FileChangeApproval) -> list[Event]:
        self._items.asked(question.item_id)
        changes = self.changes_of(question.item_id) or {}
        return [Event(question.turn_id, questions.apply_patch_approval_request(question, changes))]

    def _ask_tool(self, question: ToolCallRequest) -> list[Event]:
        known = self._items.find(question.call_id)
        started_at_ms = 0 if known is None else known.note.started_at_ms
        return [Event(question.turn_id, questions.dynamic_tool_call_request(question, started_at_ms))]

    def _ask_elicitation(self, question: ServerElicitation) -> list[Event]:
        turn_id = question.turn_id
        return [Event(self._turn_id if turn_id is None else turn_id, questions.elicitation_request(question.params))]


def _refused(item: items.Item, known: Known | None) -> bool:
    """Whether a patch was declined, or its question failed: it then ends without a begin."""
    if not isinstance(item, items.FileChange):
        return False
    return item.status == "declined" or (item.status == "failed" and known is not None and known.life is Life.ASKED)


def _start_of(note: notifications.ItemCompleted, known: Known | None) -> notifications.ItemStarted:
    """The begin of an item that is already complete, with the fields of its end."""
    started_at_ms = known.note.started_at_ms if known is not None else note.item.started_at_ms or note.completed_at_ms
    return notifications.ItemStarted(note.turn_id, note.item, started_at_ms)


Handler: TypeAlias = Callable[[EventTranslator, Any], list[Event]]


_Self: TypeAlias = EventTranslator

_SAYS: Final[dict[type[object], Callable[[Any], dict[str, object]]]] = {
    notifications.MessageDelta: partial(texts.delta, "agent_message_content_delta"),
    notifications.PlanDelta: partial(texts.delta, "plan_delta"),
    notifications.SummaryDelta: texts.summary_delta,
    notifications.ReasoningDelta: texts.reasoning_delta,
    notifications.SummaryPartAdded: texts.section_break,
    notifications.ErrorReported: texts.error_event,
    PermissionsApproval: questions.request_permissions,
    UserInputRequest: questions.request_user_input,
}
"""Those that are one event of their turn, whatever came before."""

_HANDLERS: Final[dict[type[object], Handler]] = {
    notifications.OutputDelta: _Self._output_delta,
    notifications.TerminalInput: _Self._terminal_input,
    notifications.PatchUpdated: _Self._patch_updated,
    notifications.ItemStarted: _Self._item_started,
    notifications.ItemCompleted: _Self._item_completed,
    notifications.TurnStarted: _Self._turn_started,
    notifications.TurnCompleted: _Self._turn_completed,
    notifications.DiffUpdated: _Self._diff_updated,
    notifications.PlanUpdated: _Self._plan_updated,
    notifications.UsageUpdated: _Self._usage_updated,
    notifications.RateLimitsUpdated: _Self._limits_updated,
    notifications.SettingsUpdated: _Self._settings_updated,
    notifications.ServerStatusUpdated: _Self._server_status,
    notifications.RawItemCompleted: _Self._raw_item,
    notifications.RawResponseCompleted: _Self._raw_completed,
    notifications.OtherNotification: _Self._renamed,
    Event: _Self._old_event,
    CommandApproval: _Self._ask_command,
    FileChangeApproval: _Self._ask_patch,
    ToolCallRequest: _Self._ask_tool,
    ServerElicitation: _Self._ask_elicitation,
}
