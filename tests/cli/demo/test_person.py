"""The person at the terminal, and nobody there."""

import asyncio
import io
import os
import pty
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.demo.person import AlwaysApprove, Person
from codex_mcp.cli.demo.screen import Screen
from codex_mcp.cli.mcp_client.messages import Decision
from tests.support.patience import PATIENCE

END_OF_INPUT = "\x04"


@dataclass(frozen=True, slots=True)
class Line:
    """Both ends of a terminal's line."""

    keys: int
    program: int


@pytest.fixture
def line() -> Iterator[Line]:
    """A terminal."""
    keys, program = pty.openpty()
    yield Line(keys, program)
    os.close(keys)
    os.close(program)


class WatchedFile(io.StringIO):
    """A screen that one can watch."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    def write(self, text: str) -> int:
        """Show it."""
        self._changed.set()
        return super().write(text)

    async def questions(self, number: int) -> None:
        """Wait until so many questions have been asked."""
        while self.getvalue().count("you  ") < number:
            self._changed.clear()
            await self._changed.wait()


async def decided(line: Line, answers: Sequence[str]) -> Decision:
    """Type each answer when the next question stands there."""
    file = WatchedFile()
    tasks = TaskSet()
    deciding = tasks.spawn(Person(Screen(file), line.program).decide(), name="decide")
    for number, answer in enumerate(answers, 1):
        async with asyncio.timeout(PATIENCE):
            await file.questions(number)
        os.write(line.keys, answer.encode())
    async with asyncio.timeout(PATIENCE):
        return await deciding


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        (["y\n"], Decision(approved=True)),
        (["Yes\n", "yes\n"], Decision(approved=True)),
        (["n\n"], Decision(approved=False)),
        (["\n", "perhaps\n", "no\n"], Decision(approved=False)),
        ([END_OF_INPUT], Decision(approved=False)),
        (["d\n", " not today \n"], Decision(approved=False, reason="not today")),
        (["d\n", "\n"], Decision(approved=False)),
    ],
)
async def test_the_person_is_asked_until_the_answer_is_clear(
    line: Line, answers: list[str], decision: Decision
) -> None:
    assert await decided(line, answers) == decision


async def test_what_was_typed_before_the_question_is_no_answer(line: Line) -> None:
    os.write(line.keys, b"y\n")
    assert await decided(line, ["n\n"]) == Decision(approved=False)


async def test_a_question_can_be_taken_back(line: Line) -> None:
    tasks = TaskSet()
    tasks.spawn(Person(Screen(io.StringIO()), line.program).decide(), name="decide")
    await asyncio.sleep(0)
    await tasks.aclose()


async def test_nobody_allows_everything_and_says_so() -> None:
    file = io.StringIO()
    assert await AlwaysApprove(Screen(file), "--yes was given").decide() == Decision(approved=True)
    assert file.getvalue() == "you      Allowed, without asking you: --yes was given.\n\n"
