"""What the server sends, on the screen."""

import io

from codex_mcp.cli.demo.screen import Screen
from codex_mcp.cli.demo.show import Show
from codex_mcp.cli.mcp_client.messages import (
    AgentMessage,
    AgentReasoning,
    Change,
    CommandEnded,
    Decision,
    Duration,
    Event,
    MessageDelta,
    PatchEnded,
    Question,
    ReasoningDelta,
    Warned,
)

CHANGES = {"/shop/prices.py": Change("update", unified_diff="-a\n+b\n")}


class Always:
    """Decides the same every time."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    async def decide(self) -> Decision:
        """The same."""
        return self.decision


def shown(*events: Event) -> str:
    file = io.StringIO()
    show = Show(Screen(file), Always(Decision(approved=True)), "/shop")
    for event in events:
        show.event_received(event)
    return file.getvalue()


def test_each_kind_of_event_has_its_speaker() -> None:
    text = shown(
        MessageDelta("1", "I will"),
        ReasoningDelta("2", "Hm"),
        AgentMessage("I will look."),
        AgentReasoning("Hm."),
        CommandEnded(["sh", "-c", "ls"], "/shop/prices.py\n", 0, Duration(0, 0)),
        PatchEnded(success=True, changes=CHANGES),
        PatchEnded(success=False, changes=CHANGES),
        Warned("Careful."),
    )
    assert text.split("\n\n") == [
        "agent    I will look.",
        "thinks   Hm.",
        "runs     $ ls\n         prices.py\n         exit code 0, 0.00 s",
        "codex    `prices.py` is changed.",
        "codex    `prices.py` is unchanged.",
        "codex    Careful.",
        "",
    ]


async def test_a_question_is_shown_and_a_refusal_is_remembered() -> None:
    file = io.StringIO()
    decider = Always(Decision(approved=True))
    show = Show(Screen(file), decider, "/shop")

    remembered = []
    for decision in [Decision(approved=True), Decision(approved=False, reason="Not today."), Decision(approved=True)]:
        decider.decision = decision
        assert await show.answer(Question("Allow it?", CHANGES)) == decision
        remembered.append(show.refused)

    assert remembered == [False, True, True]
    assert "update prices.py\n" in file.getvalue()
    assert "server   The agent is told why: Not today." in file.getvalue()
