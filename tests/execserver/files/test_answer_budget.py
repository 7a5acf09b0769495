import asyncio

import pytest

from codex_mcp.execserver.files.answer_budget import AnswerBudget
from codex_mcp.rpc.errors import RequestFailed


async def test_what_fits_is_taken_at_once_and_the_rest_waits_in_order() -> None:
    budget = AnswerBudget(limit=10)
    await budget.take(6)
    await budget.take(4)
    order: list[str] = []

    async def take(name: str, size: int) -> None:
        await budget.take(size)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(take("large", 8))
        group.create_task(take("small", 1))
        await asyncio.sleep(0)
        budget.give_back(4)
        await asyncio.sleep(0)
        assert order == [], "the small one does not overtake"
        budget.give_back(6)
    assert order == ["large", "small"]
    assert repr(budget) == "<AnswerBudget 9 of 10 bytes, 0 requests wait>"


async def test_what_is_larger_than_the_limit_is_taken_alone() -> None:
    budget = AnswerBudget(limit=10)
    await budget.take(100)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(budget.take(1))
        await asyncio.sleep(0)
        assert not waiting.done()
        budget.give_back(100)


async def test_a_request_whose_turn_never_comes_fails_with_a_reason() -> None:
    budget = AnswerBudget(limit=10, patience=0.01)
    await budget.take(10)
    with pytest.raises(RequestFailed, match="have not read answers of 10 bytes"):
        await budget.take(1)
    budget.give_back(10)
    await budget.take(10)


@pytest.mark.parametrize("has_come", [True, False])
async def test_a_request_that_is_cancelled_holds_nothing(has_come: bool) -> None:  # noqa: FBT001
    budget = AnswerBudget(limit=10)
    await budget.take(10)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(budget.take(5))
        await asyncio.sleep(0)
        if has_come:
            budget.give_back(10)
        waiting.cancel()
    assert waiting.cancelled()
    assert repr(budget) == f"<AnswerBudget {0 if has_come else 10} of 10 bytes, 0 requests wait>"
