import asyncio

import pytest

from codex_mcp.mcp.calls.cancellable import CancellableRequest, RequestCancelled


async def test_the_work_is_cancelled_once() -> None:
    began, cleaned_up = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            request.cancel()
            await asyncio.sleep(0)
            cleaned_up.set()

    request = CancellableRequest()

    async def cancel() -> None:
        await began.wait()
        request.cancel()

    answer, _ = await asyncio.gather(request.run(work()), cancel(), return_exceptions=True)
    assert isinstance(answer, RequestCancelled)
    assert cleaned_up.is_set()
    request.cancel()


async def test_a_request_can_be_cancelled_before_it_begins() -> None:
    request = CancellableRequest()
    request.cancel()
    with pytest.raises(RequestCancelled):
        await request.run(asyncio.Event().wait())


async def test_other_ends_are_kept() -> None:
    async def fail() -> None:
        raise TimeoutError("of its own")

    assert await CancellableRequest().run(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(TimeoutError, match="of its own"):
        await CancellableRequest().run(fail())
