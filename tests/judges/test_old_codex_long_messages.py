"""Messages of the last Codex with an mcp-server (0.153.4) that are longer than `max_message_bytes`."""

from pathlib import Path

import pytest

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.threads.record import Status
from tests.judges.test_old_codex import old_threads, run, say
from tests.support.core.cores import Watcher


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param('[[scene: stream piece="0123456789abcdef" count=8192]]', id="answer"),
        pytest.param(f'[[scene: escalate cmd="touch ran; : {"y" * 200_000}"]]', id="question"),
    ],
)
async def test_a_turn_of_which_something_is_too_long_to_read_fails_and_its_thread_goes_on(
    tmp_path: Path, prompt: str
) -> None:
    async with old_threads(tmp_path, max_message_bytes=65536) as (threads, _model):
        thread = await threads.start(ThreadSpec(cwd=str(tmp_path), approval_policy="on-request"))
        watcher = Watcher()
        outcome = await run(thread, prompt, watcher)
        assert outcome.status is Status.FAILED
        assert "max_message_bytes" in outcome.content
        assert watcher.questions == []
        assert not (tmp_path / "ran").exists()
        assert (await run(thread, say("short"))).content == "short"
