"""The example session of the exec-server's document, message by message as it is printed there."""

import json
from pathlib import Path

from tests.support.exec.wire import connected, target, text_of

INITIALIZE = '{"id":1,"method":"initialize","params":{"clientName":"example-client"}}'
INITIALIZED = '{"method":"initialized","params":{}}'
START = (
    r'{"id":2,"method":"process/start","params":{"processId":"proc-1","argv":["bash","-lc","printf '
    r"'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' \"$line\"; done"
    r'"],"cwd":"file:///tmp","env":{"PATH":"/usr/bin:/bin"},"tty":true,"pipeStdin":false,"arg0":null}}'
)
WRITE = '{"id":3,"method":"process/write","params":{"processId":"proc-1","chunk":"aGVsbG8K"}}'
TERMINATE = '{"id":4,"method":"process/terminate","params":{"processId":"proc-1"}}'


async def test_the_example_session_runs_as_it_is_printed(tmp_path: Path) -> None:
    async with target(tmp_path) as ours, connected(ours.url) as wire:
        wire.send(INITIALIZE.encode())
        assert "result" in await wire.answer(1)
        wire.send(INITIALIZED.encode())
        wire.send(START.encode())
        assert json.loads(START)["params"]["argv"][2].startswith("printf 'ready\\n'")
        started = (await wire.answer(2))["result"]
        assert isinstance(started, dict)
        assert started["processId"] == "proc-1"
        await wire.said("proc-1", "ready")
        for _ in range(2):  # without a writeId, each request is written
            wire.send(WRITE.encode())
            assert (await wire.answer(3))["result"] == {"status": "accepted"}
        while text_of(wire.events("proc-1")).count("echo:hello") < 2:
            await wire.until(len(wire.news) + 1)
        wire.send(TERMINATE.encode())
        assert (await wire.answer(4))["result"] == {"running": True}
        events = await wire.closed("proc-1")
        assert [event["method"] for event in events][-2:] == ["process/exited", "process/closed"]
        assert text_of(events).count("echo:hello") == 2
