"""Exit codes of other machines, as our own exit code."""

import asyncio
import sys

import pytest

from codex_mcp.transports.websockets.accepted import Endpoint, listen
from codex_mcp.transports.websockets.socket import Socket
from tests.support.patience import PATIENCE

ANSWERS = {
    b'"initialize"': b'{"id":%d,"result":{"sessionId":"s","environmentInfo":{"shell":{"name":"sh","path":"/bin/sh"},'
    b'"cwd":"file:///"}}}',
    b'"process/start"': b'{"id":%d,"result":{"processId":"p"}}',
}


class Executor:
    """Answers as an exec-server does whose only process ends with this exit code."""

    def __init__(self, socket: Socket, code: int) -> None:
        self._socket = socket
        self._code = code
        self._requests = 0

    def frame_received(self, frame: bytes) -> None:
        for method, answer in ANSWERS.items():
            if method in frame:
                self._socket.send(answer % self._requests)
                self._requests += 1
        if b'"process/start"' in frame:
            name = frame.partition(b'"processId":"')[2].partition(b'"')[0]
            for seq, (event, more) in enumerate([("exited", f',"exitCode":{self._code}'), ("closed", "")], 1):
                text = f'{{"method":"process/{event}","params":{{"processId":"{name.decode()}","seq":{seq}{more}}}}}'
                self._socket.send(text.encode())

    def pause_writing(self) -> None:
        """It writes little."""

    def resume_writing(self) -> None:
        """It writes little."""

    def connection_lost(self) -> None:
        """It is over."""


@pytest.mark.parametrize(
    ("code", "ours"), [(0, 0), (7, 7), (255, 255), (256, 255), (1 << 40, 255), (-1, 255), (3221225786, 255)]
)
async def test_an_exit_code_that_does_not_fit_is_not_taken_for_success(code: int, ours: int) -> None:
    endpoint = Endpoint(lambda socket: Executor(socket, code), lambda _: None, lambda: False)
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        argv = [sys.executable, "-m", "codex_mcp", "exec", "--url", url, "--", "true"]
        process = await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.DEVNULL)
        assert await process.wait() == ours
