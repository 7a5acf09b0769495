"""Show the events of the server on the screen, and pass its questions to a decider."""

from __future__ import annotations

from typing import Protocol

from codex_mcp.cli.demo.screen import Screen, Who
from codex_mcp.cli.mcp_client.messages import (
    AgentMessage,
    AgentReasoning,
    CommandEnded,
    Decision,
    Event,
    MessageDelta,
    PatchEnded,
    Question,
    ReasoningDelta,
    Warned,
)


class Decider(Protocol):
    async def decide(self) -> Decision: ...


class Drawing:
    """Draws an agent at work. Paths below `folder` are shown relative to it."""

    def __init__(self, screen: Screen, folder: str) -> None:
        self._screen = screen
        self._folder = folder

    def event_received(self, event: Event) -> None:
        match event:
            case MessageDelta():
                self._screen.streams(Who.AGENT, event.item_id, event.delta)
            case ReasoningDelta():
                self._screen.streams(Who.THINKS, event.item_id, event.delta)
            case AgentMessage():
                self._screen.says(Who.AGENT, event.message)
            case AgentReasoning():
                self._screen.says(Who.THINKS, event.text)
            case CommandEnded():
                self._screen.ran(event.line, self._short(event.aggregated_output), event.exit_code, event.seconds)
            case PatchEnded():
                files = ", ".join(f"`{self._short(path)}`" for path in event.changes)
                self._screen.says(Who.CODEX, f"{files} {'is changed' if event.success else 'is unchanged'}.")
            case Warned():
                self._screen.says(Who.CODEX, event.message)

    def _short(self, text: str) -> str:
        return text.replace(f"{self._folder}/", "") if self._folder else text


class Show(Drawing):
    def __init__(self, screen: Screen, decider: Decider, folder: str) -> None:
        super().__init__(screen, folder)
        self._decider = decider
        self.refused = False
        """Whether something was denied."""

    async def answer(self, question: Question) -> Decision:
        changes = {self._short(path): change for path, change in question.codex_changes.items()}
        self._screen.asks(question.message, changes)
        decision = await self._decider.decide()
        self.refused = self.refused or not decision.approved
        if decision.reason:
            self._screen.says(Who.SERVER, f"The agent is told why: {decision.reason}")
        return decision
