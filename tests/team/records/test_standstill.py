"""Everything stands still from an overdue lease until it is sure whose the agents are: each cell of the table."""

import asyncio
from collections.abc import Callable

import pytest

from codex_mcp.team.records import standstill as module
from codex_mcp.team.records.standstill import Standstill
from tests.support.mail.folders import until


class Scene:
    """What stands still, and a store that answers when it is told to."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.answers: asyncio.Queue[bool | None] = asyncio.Queue()
        self.asked = 0
        self.standstill = Standstill(self, self.still_ours)

    def say(self, *answers: bool | None) -> None:
        """What the store says next."""
        for answer in answers:
            self.answers.put_nowait(answer)

    def stand_still(self) -> None:
        self.told.append("still")

    async def go_on(self) -> None:
        assert self.standstill.holds
        self.told.append("on")

    async def end_still(self) -> None:
        assert self.standstill.holds
        self.told.append("end")

    async def still_ours(self) -> bool | None:
        self.asked += 1
        return await self.answers.get()


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Scene]:
    monkeypatch.setattr(module, "RETRY", 0.0)
    return Scene


@pytest.mark.parametrize(("ours", "told"), [(True, "on"), (False, "end")])
async def test_it_goes_on_only_if_all_agents_are_ours(scene: Callable[[], Scene], told: str, *, ours: bool) -> None:
    one = scene()
    assert await one.standstill.over(0.0)
    one.standstill.begin()
    one.standstill.begin()
    assert not await one.standstill.over(0.0)
    one.standstill.renewed()
    one.standstill.renewed()
    one.say(None, None, ours)
    assert one.standstill.holds
    assert await one.standstill.over(30.0)
    assert (one.told, one.asked) == (["still", told], 3)
    await one.standstill.aclose()


async def test_who_is_late_again_while_it_asks_asks_anew(scene: Callable[[], Scene]) -> None:
    one = scene()
    one.standstill.begin()
    one.standstill.renewed()
    await until(lambda: one.asked == 1)
    one.standstill.begin()
    one.say(*[True])
    await until(lambda: one.asked == 2)
    assert one.told == ["still"]
    one.say(*[False])
    assert await one.standstill.over(30.0)
    assert one.told == ["still", "end"]
    await one.standstill.aclose()


async def test_what_another_server_took_over_is_ended_and_who_never_stood_still_is_left_alone(
    scene: Callable[[], Scene],
) -> None:
    one = scene()
    one.standstill.renewed()
    await one.standstill.taken_over()
    assert one.told == []
    one.standstill.begin()
    await one.standstill.taken_over()
    assert one.told == ["still", "end"]
    assert await one.standstill.over(0.0)
    await one.standstill.aclose()
