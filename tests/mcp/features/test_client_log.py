"""Which log records reach which client."""

import asyncio
import logging

import pytest

from codex_mcp.base.logs import Subject, about_only
from codex_mcp.mcp.features.client_log import MAX_CHARS, PER_SECOND, ClientLog, Sink, level_of
from codex_mcp.wire.features import Level, LogMessage

logger = logging.getLogger("codex_mcp.tests")
OURS = Subject("s1", "ada")


class Client:
    """Keeps what it was sent."""

    def __init__(self) -> None:
        self.messages: list[LogMessage] = []

    @property
    def texts(self) -> list[str]:
        return [message.data for message in self.messages]


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "codex_mcp")


@pytest.mark.parametrize(
    ("number", "level"),
    [(5, Level.DEBUG), (10, Level.DEBUG), (20, Level.INFO), (29, Level.NOTICE), (40, Level.ERROR), (99, "emergency")],
)
def test_numbers_have_levels(number: int, level: Level) -> None:
    assert level_of(number) == level


async def test_a_client_gets_what_is_about_its_own_session_and_at_least_of_its_level() -> None:
    log, client = ClientLog(), Client()
    sink = Sink(OURS, Level.INFO, client.messages.append)
    log.add(sink)
    with about_only(OURS._replace(request="7", thread="t")):
        logger.info("ours")
        logger.debug("too little")
    for foreign in (Subject("s2", "ada"), Subject("s1", "bob"), Subject()):
        with about_only(foreign):
            logger.error("foreign")
    sink.set_level(Level.ERROR)
    with about_only(OURS):
        logger.warning("no longer")
        await asyncio.to_thread(logger.error, "from a thread")
    await asyncio.sleep(0)
    log.remove(sink)
    log.remove(sink)
    with about_only(OURS):
        logger.error("too late")
    assert client.messages == [
        LogMessage(Level.INFO, "codex_mcp.tests", "ours"),
        LogMessage(Level.ERROR, "codex_mcp.tests", "from a thread"),
    ]
    assert log not in logging.getLogger("codex_mcp").handlers


async def test_one_request_can_have_a_level_of_its_own() -> None:
    log, client = ClientLog(), Client()
    sink = Sink(OURS._replace(request="7"), Level.INFO, client.messages.append)
    log.add(sink)
    with about_only(OURS._replace(request="7")):
        logger.info("ours")
    with about_only(OURS._replace(request="8")):
        logger.info("another request's")
    log.remove(sink)
    assert client.texts == ["ours"]


async def test_secrets_are_masked_and_long_texts_cut() -> None:
    log, client = ClientLog(), Client()
    sink = Sink(OURS, Level.INFO, client.messages.append)
    log.add(sink)
    with about_only(OURS):
        logger.info("Authorization: Bearer %s", "sk-proj-" + "a1B2" * 12)
        logger.info("x" * (MAX_CHARS + 1))
        log.emit(logging.makeLogRecord({"msg": "%d", "args": ("no number",), "levelno": logging.INFO}))
    log.remove(sink)
    assert "a1B2" not in client.texts[0]
    assert len(client.texts[1]) == MAX_CHARS
    assert client.texts[2] == "%d"


async def test_sending_that_is_logged_itself_is_not_sent_again() -> None:
    log = ClientLog()
    sent: list[str] = []

    def send(message: LogMessage) -> None:
        sent.append(message.data)
        logger.error("sent %s", message.data)

    sink = Sink(OURS, Level.DEBUG, send)
    log.add(sink)
    with about_only(OURS):
        logger.info("once")
    log.remove(sink)
    assert sent == ["once"]


def test_a_flood_is_cut_and_counted() -> None:
    client = Client()
    sink = Sink(OURS, Level.INFO, client.messages.append)
    for number in range(PER_SECOND + 5):
        sink.take(LogMessage(Level.INFO, "x", str(number)), 100.0)
    sink.take(LogMessage(Level.INFO, "x", "later"), 101.0)
    assert len(client.messages) == PER_SECOND + 1
    assert client.texts[-1] == "(5 messages were left out) later"
