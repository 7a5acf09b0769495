"""Small real programs as children."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from codex_mcp.rpc.channel import Frame, UnreadableFrame
from codex_mcp.transports.child import STDERR_TAIL_BYTES, Child, Exit, start_child
from tests.support.patience import PATIENCE
from tests.support.rpc.reading import receive

LIMIT = 100_000
ENVIRONMENT = {"PATH": os.environ["PATH"], "NAME": "Ada"}


@asynccontextmanager
async def running(*argv: str, limit: int = LIMIT) -> AsyncIterator[Child]:
    """A child that does not outlive the test."""
    child = await start_child(argv, ENVIRONMENT, limit)
    try:
        async with asyncio.timeout(PATIENCE):
            yield child
    finally:
        child.kill()
        await child.aclose()
        await child.wait()
        while await receive(child):
            pass


async def everything(child: Child) -> list[Frame]:
    frames: list[Frame] = []
    while some := await receive(child):
        frames += some
    return frames


async def test_lines_go_both_ways_until_its_stdin_is_closed() -> None:
    async with running("cat") as child:
        child.send(b"one")
        assert await receive(child) == [b"one"]
        child.send(b"two")
        await child.drain(1)
        await child.aclose()
        await child.aclose()
        child.send(b"nobody reads this")
        assert await everything(child) == [b"two"]
        assert await child.wait() == Exit(0, "")


async def test_it_gets_the_environment_that_it_is_given_and_no_other() -> None:
    async with running("sh", "-c", 'echo "$NAME"; echo "$HOME"; echo end') as child:
        assert await everything(child) == [b"Ada", b"end"]


async def test_a_last_line_without_its_end_counts_and_a_line_that_is_too_long_does_not() -> None:
    async with running("sh", "-c", "echo one; echo 0123456789; printf two", limit=5) as child:
        assert await everything(child) == [b"one", UnreadableFrame("the message is larger than 5 bytes"), b"two"]


async def test_a_large_message_passes_both_ways() -> None:
    large = b"x" * (LIMIT - 1)
    async with running("cat") as child:
        child.send(large)
        assert await receive(child) == [large]


@pytest.mark.parametrize(
    ("script", "ended", "words"),
    [
        ("exit 0", Exit(0, ""), "exit code 0"),
        ("echo no >&2; exit 3", Exit(3, "no\n"), "exit code 3"),
        ("kill -9 $$", Exit(-9, ""), "signal SIGKILL"),
        ("kill -TERM $$", Exit(-15, ""), "signal SIGTERM"),
    ],
)
async def test_its_end_is_told_in_words(script: str, ended: Exit, words: str) -> None:
    async with running("sh", "-c", script) as child:
        assert await child.wait() == ended
        assert await child.wait() == ended
        assert str(ended) == words


def test_a_signal_without_a_name_is_a_number() -> None:
    assert str(Exit(-40, "")) == "signal 40"


async def test_its_last_words_are_kept_and_not_more() -> None:
    script = "import sys; sys.stderr.write('x' * 1000000 + 'the end \\xe4'); sys.exit(1)"
    async with running(sys.executable, "-X", "utf8", "-c", script) as child:
        ended = await child.wait()
        assert len(ended.stderr.encode()) == STDERR_TAIL_BYTES
        assert ended.stderr.endswith("xthe end ä")
        assert child.stderr == ended.stderr


async def test_a_child_that_was_killed_has_ended_with_its_whole_group() -> None:
    async with running("sh", "-c", "sleep 1000 & echo $!; wait") as child:
        (sleeper,) = await receive(child)
        child.kill()
        assert str(await child.wait()) == "signal SIGKILL"
        child.kill()
        assert isinstance(sleeper, bytes)
        assert await everything(child) == []  # the sleeper held stdout open; it is dead too


async def test_a_grandchild_that_holds_stderr_open_holds_up_nobody() -> None:
    async with running("sh", "-c", "echo last words >&2; setsid sh -c 'echo $$; exec sleep 1000 >&2' &") as child:
        (sleeper,) = await receive(child)
        assert isinstance(sleeper, bytes)
        try:
            assert await child.wait() == Exit(0, "last words\n")
        finally:
            os.kill(int(sleeper), 9)


async def test_a_grandchild_that_holds_everything_open_holds_up_nobody() -> None:
    async with running("sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' &") as child:
        (sleeper,) = await receive(child)
        assert isinstance(sleeper, bytes)
        try:
            assert await child.wait() == Exit(0, "")
        finally:
            os.kill(int(sleeper), 9)


async def test_the_output_of_a_child_that_is_gone_ends_although_a_grandchild_holds_it_open() -> None:
    async with running("sh", "-c", "sleep 1000 & echo '\"last\"'; kill -9 $$") as child:
        assert await everything(child) == [b'"last"']


async def test_writing_to_a_child_that_is_gone_is_no_error() -> None:
    async with running("true") as child:
        await child.wait()
        for _ in range(3):
            child.send(b"x" * LIMIT)
            await child.drain(1)


async def test_a_program_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError):
        await start_child(["/nowhere/codex"], ENVIRONMENT, LIMIT)


async def test_it_knows_its_process_id() -> None:
    async with running("sh", "-c", "echo $$") as child:
        assert await receive(child) == [str(child.pid).encode()]


async def test_it_may_do_something_before_its_program_begins() -> None:
    def before_exec() -> None:
        os.umask(0o27)

    child = await start_child(["sh", "-c", "umask"], ENVIRONMENT, LIMIT, before_exec=before_exec)
    async with asyncio.timeout(PATIENCE):
        assert await everything(child) == [b"0027"]
        await child.aclose()
        assert (await child.wait()).code == 0
