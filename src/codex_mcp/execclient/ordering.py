"""Pure. Puts the events of one process into order, each exactly once.

event's seq        is kept early    accept() does
-----------------  ---------------  ------------------------------------------------------------------
<= published       no               drops it: it was published
== published + 1   no               publishes it, and all early ones that now follow
>  published + 1   no               keeps it early; beyond EARLY_BYTES: EventGap
>  published + 1   yes              drops it: it is the same event

After a lost connection, catch_up(read) adds the retained chunks, and Closed at nextSeq - 1 if the process is closed.
Then:

read says   exit was seen   events missing below nextSeq   catch_up() does
----------  --------------  -----------------------------  -------------------------------------------
running     -               none                           publishes what is now in order
exited      yes             none                           publishes what is now in order
exited      no              exactly one                    puts the exit there, publishes
otherwise                                                  EventGap: output is lost
"""

from __future__ import annotations

from itertools import islice
from typing import Final, TypeAlias

from codex_mcp.execclient.errors import EventGap
from codex_mcp.wire.exec.protocol import ProcessClosed, ProcessExited, ProcessOutput, ProcessRead

Event: TypeAlias = ProcessOutput | ProcessExited | ProcessClosed

EARLY_BYTES: Final = 16 << 20
"""Many early events arrive only while catching up, before the answer that fills the gap. In that time a server sends at
most 1 MiB per process."""

EVENT_OVERHEAD: Final = 256
"""Memory of an event besides its chunk, so that many empty events count as well."""

UNKNOWN_EXIT_CODE: Final = -1
"""The exit code when the server could not determine it; servers send the same."""


def event_bytes(event: Event) -> int:
    return EVENT_OVERHEAD + (len(event.chunk) if isinstance(event, ProcessOutput) else 0)


class EventOrder:
    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.published = 0
        """The last event that was published."""
        self.is_closed = False
        """Closed was published; no event follows it."""
        self._exit_seen = False
        self._early: dict[int, Event] = {}
        self._early_bytes = 0

    def __repr__(self) -> str:
        return f"<EventOrder {self.process_id}: {self.published} published, {len(self._early)} early>"

    def accept(self, event: Event) -> list[Event]:
        """An event arrived; return the events to publish now. Raises EventGap if too many wait for a missing one."""
        self._keep(event)
        if self._early_bytes > EARLY_BYTES and self.published + 1 not in self._early:
            raise EventGap(self.process_id, self.published + 1, max(self._early))
        return self._publish()

    def catch_up(self, read: ProcessRead) -> list[Event]:
        """Add what the server retains after `published`; return the events to publish now. Raises EventGap."""
        through = read.next_seq - 1
        for chunk in read.chunks:
            self._keep(ProcessOutput(self.process_id, chunk.seq, chunk.stream, chunk.chunk))
        if read.closed:
            self._keep(ProcessClosed(self.process_id, through))
        missing = self._first_missing(through)
        if read.exited and not self._exit_seen and len(missing) == 1:
            code = UNKNOWN_EXIT_CODE if read.exit_code is None else read.exit_code
            self._keep(ProcessExited(self.process_id, missing.pop(), code, read.sandbox_denied))
        if missing or (read.exited and not self._exit_seen):
            raise EventGap(self.process_id, missing[0] if missing else through + 1, through)
        return self._publish()

    def _first_missing(self, through: int) -> list[int]:
        """At most two: two are too many already, and a huge `through` from the server must not cost time."""
        absent = (seq for seq in range(self.published + 1, through + 1) if seq not in self._early)
        return list(islice(absent, 2))

    def _keep(self, event: Event) -> None:
        if event.seq <= self.published or event.seq in self._early:
            return
        self._early[event.seq] = event
        self._early_bytes += event_bytes(event)
        self._exit_seen = self._exit_seen or isinstance(event, ProcessExited)

    def _publish(self) -> list[Event]:
        ready: list[Event] = []
        while (event := self._early.pop(self.published + 1, None)) is not None:
            self._early_bytes -= event_bytes(event)
            self.published += 1
            self.is_closed = self.is_closed or isinstance(event, ProcessClosed)
            ready.append(event)
        return ready
