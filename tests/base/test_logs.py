import asyncio
import fcntl
import logging
import os
import re
import stat
from pathlib import Path

import pytest

from codex_mcp.base.logs import (
    BUFFER_SECONDS,
    LOG_FILE,
    MAX_BUFFERED,
    TRACE,
    LogFile,
    StderrLog,
    Subject,
    about_only,
    line_for,
    logs_written,
)
from codex_mcp.base.settings.core import LogSettings
from codex_mcp.base.settings.kinds import LogLevel
from codex_mcp.base.tasks import TaskSet

logger = logging.getLogger("codex_mcp.threads.threads")


def record(message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("codex_mcp.x", logging.INFO, "x.py", 1, message, args, None)


def test_nothing_is_made_before_the_first_line(tmp_path: Path) -> None:
    with logs_written(LogSettings(), str(tmp_path)):
        assert list(tmp_path.iterdir()) == []


def test_a_line_has_time_level_module_ids_and_message(tmp_path: Path) -> None:
    with (
        logs_written(LogSettings(), str(tmp_path)),
        about_only(Subject(session="s1", request="7", thread="t9")),
    ):
        logger.info("turn %s started", "a")
    line = (tmp_path / LOG_FILE).read_text()
    shape = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO    codex_mcp\.threads\.threads "
    assert re.fullmatch(shape + r"session=s1 request=7 thread=t9 turn a started\n", line)


def test_an_inner_id_replaces_the_outer_one_and_no_id_breaks_a_line(tmp_path: Path) -> None:
    with (
        logs_written(LogSettings(), str(tmp_path)),
        about_only(Subject(thread="t1", request="x")),
        about_only(Subject(thread="t2", request="a b\nc=d")),
    ):
        logger.info("here")
    assert (tmp_path / LOG_FILE).read_text().endswith("threads request=a_b_c=d thread=t2 here\n")


def test_what_is_about_something_else_takes_no_id_from_where_it_was_started(tmp_path: Path) -> None:
    with (
        logs_written(LogSettings(), str(tmp_path)),
        about_only(Subject("s1", "ada", "7", "t9")),
    ):
        with about_only(Subject("s2", "bob", thread="t1")):
            logger.info("inside")
        with about_only(Subject()):
            logger.info("nothing")
        logger.info("outside")
    assert [line.split("threads ")[1] for line in (tmp_path / LOG_FILE).read_text().splitlines()] == [
        "session=s2 principal=bob thread=t1 inside",
        "nothing",
        "session=s1 principal=ada request=7 thread=t9 outside",
    ]


async def test_tasks_keep_the_ids_of_where_they_were_started(tmp_path: Path) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        logger.info("working")

    tasks = TaskSet()
    with logs_written(LogSettings(), str(tmp_path)):
        with about_only(Subject(thread="t1")):
            inside = tasks.spawn(work(), name="inside")
        await asyncio.wait([inside, tasks.spawn(work(), name="outside")])
    assert [line.split("threads ")[1] for line in (tmp_path / LOG_FILE).read_text().splitlines()] == [
        "thread=t1 working",
        "working",
    ]


def test_the_file_is_private_and_masked_and_stderr_is_neither_masked_nor_stdout(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with logs_written(LogSettings(), str(tmp_path)):
        logger.warning("refused: Authorization: Bearer abc.def")
    path = tmp_path / LOG_FILE
    assert path.read_text().endswith("Authorization: Bearer ****\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("Authorization: Bearer abc.def\n")


@pytest.mark.parametrize(
    ("level", "in_file", "on_stderr"),
    [
        (None, ["info", "warning", "error"], ["warning", "error"]),
        (LogLevel.DEBUG, ["debug", "info", "warning", "error"], ["debug", "info", "warning", "error"]),
        (LogLevel.ERROR, ["error"], ["error"]),
        (LogLevel.OFF, [], []),
    ],
)
def test_the_level_decides_what_goes_where(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], level: LogLevel | None, in_file: list[str], on_stderr: list[str]
) -> None:
    with logs_written(LogSettings(log_level=level), str(tmp_path)):
        for name in ("debug", "info", "warning", "error"):
            logger.log(logging.getLevelNamesMapping()[name.upper()], name)
    path = tmp_path / LOG_FILE
    written = path.read_text() if path.exists() else ""
    assert [line.split()[-1] for line in written.splitlines()] == in_file
    assert [line.split()[-1] for line in capfd.readouterr().err.splitlines()] == on_stderr


def test_libraries_are_heard_when_something_went_wrong_only(tmp_path: Path) -> None:
    with logs_written(LogSettings(log_level=LogLevel.DEBUG), str(tmp_path)):
        logging.getLogger("some.library").info("chatter")
        logging.getLogger("some.library").error("trouble")
    assert [line.split()[-1] for line in (tmp_path / LOG_FILE).read_text().splitlines()] == ["trouble"]


def test_an_exception_is_logged_with_its_traceback_indented(tmp_path: Path) -> None:
    with logs_written(LogSettings(), str(tmp_path)):
        try:
            raise ValueError("api_key=abc")
        except ValueError:
            logger.exception("cannot go on")
    lines = (tmp_path / LOG_FILE).read_text().splitlines()
    assert lines[0].endswith("cannot go on")
    assert all(line.startswith("    ") for line in lines[1:])
    assert lines[-1] == "    ValueError: api_key=****"


def test_a_message_cannot_forge_a_line() -> None:
    assert line_for(record("a\n2026-01-01T00:00:00.000Z INFO forged")).count("\n    2026") == 1


def test_a_secret_in_a_line_or_in_an_id_is_masked_and_ends_with_its_line(tmp_path: Path) -> None:
    with (
        logs_written(LogSettings(), str(tmp_path)),
        about_only(Subject(request="glpat-abcdefghij0123456789")),
    ):
        logger.info("cut: -----BEGIN PRIVATE KEY-----\nMIIEpAIB")
        logger.info("the next line")
        logger.info("-----END PRIVATE KEY-----")
    assert [line.split("threads ")[1] for line in (tmp_path / LOG_FILE).read_text().splitlines()] == [
        "request=**** cut: ****",
        "request=**** the next line",
        "request=**** -----END PRIVATE KEY-----",
    ]


def test_no_control_or_direction_character_reaches_a_terminal() -> None:
    with about_only(Subject(request="a\x1b]0;title\x07b")):
        line = line_for(record("client \x1b[2J\x07\x9b31m\u202etxt\u2069 %s", "caf\xe9 \u65e5\u672c"))
    assert line.endswith(
        "request=a\\x1b]0;title\\x07b client \\x1b[2J\\x07\\x9b31m\\u202etxt\\u2069 caf\xe9 \u65e5\u672c\n"
    )


def test_arguments_that_do_not_fit_the_text_are_logged_all_the_same() -> None:
    assert line_for(record("%d turns", "many")).endswith("%d turns ('many',)\n")


def test_a_long_file_is_set_aside_and_a_few_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log" / "x.log"
    log = LogFile(str(path), logging.INFO, max_bytes=200, kept=2)
    for number in range(40):
        log.handle(record("line %d of some length, to fill it", number))
    log.close()
    assert sorted(os.listdir(path.parent)) == ["x.log", "x.log.1", "x.log.2"]
    kept = [(path.parent / name).read_text() for name in ("x.log.2", "x.log.1", "x.log")]
    assert all(len(text) <= 200 for text in kept)
    numbers = [int(number) for number in re.findall(r"line (\d+)", "".join(kept))]
    assert numbers == list(range(40 - len(numbers), 40))


def test_no_older_file_is_kept_if_none_is_wanted(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "x.log"), logging.INFO, max_bytes=100, kept=0)
    for number in range(10):
        log.handle(record("line %d", number))
    log.close()
    assert os.listdir(tmp_path) == ["x.log"]
    assert (tmp_path / "x.log").read_text().endswith("line 9\n")


def test_a_file_that_somebody_removed_is_made_again_when_the_old_one_is_full(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    log = LogFile(str(path), logging.INFO, max_bytes=100, kept=1)
    log.handle(record("first, of some length, so that the next one does not fit"))
    path.unlink()
    log.handle(record("second, of some length"))
    log.close()
    assert os.listdir(tmp_path) == ["x.log"]
    assert path.read_text().endswith("second, of some length\n")


def test_two_writers_of_one_file_lose_nothing_when_it_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    writers = [LogFile(str(path), logging.INFO, max_bytes=300, kept=99) for _ in range(2)]
    for number in range(60):
        writers[number % 2].handle(record("line %d", number))
    for writer in writers:
        writer.close()
    text = "".join((tmp_path / name).read_text() for name in os.listdir(tmp_path))
    assert sorted(int(number) for number in re.findall(r"line (\d+)", text)) == list(range(60))
    assert all((tmp_path / name).stat().st_size <= 300 for name in os.listdir(tmp_path))


def test_a_reader_that_holds_the_lock_of_the_log_holds_nobody_up(tmp_path: Path) -> None:
    """Any program that may read it can, also an agent that may write nothing."""
    path = tmp_path / "x.log"
    log = LogFile(str(path), logging.INFO, max_bytes=300, kept=99)
    log.handle(record("line %d", 0))
    with path.open() as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        for number in range(1, 60):
            log.handle(record("line %d", number))
        log.close()
    found = {name: (tmp_path / name).read_text() for name in os.listdir(tmp_path)}
    assert sorted(int(number) for number in re.findall(r"line (\d+)", "".join(found.values()))) == list(range(60))
    assert [len(text) > 300 for text in found.values()].count(True) == 1
    assert all(len(text) <= 600 for text in found.values())


def test_a_log_that_cannot_be_written_is_one_warning_and_no_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text("a file where the folder should be")
    with logs_written(LogSettings(), str(tmp_path)):
        logger.info("one")
        logger.info("two")
    err = capfd.readouterr().err
    assert err == f"codex-mcp: cannot write the log {tmp_path / LOG_FILE}: File exists; going on without it\n"


def test_a_pipe_in_place_of_the_log_holds_nobody_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LOG_FILE).parent.mkdir()
    os.mkfifo(tmp_path / LOG_FILE)
    with logs_written(LogSettings(), str(tmp_path)):
        logger.info("one")
    assert capfd.readouterr().err.startswith(f"codex-mcp: cannot write the log {tmp_path / LOG_FILE}: ")


def test_a_reader_of_stderr_that_sleeps_does_not_stop_us_and_learns_what_it_missed() -> None:
    reader, writer = os.pipe()
    log = StderrLog(writer, logging.INFO)
    for number in range(2000):  # a pipe holds 64 KiB; this is several times as much
        log.handle(record("line %d %s", number, "x" * 100))
    first = os.read(reader, 1 << 20)
    log.handle(record("awake"))
    second = os.read(reader, 1 << 20).decode()
    os.close(reader)
    log.handle(record("nobody is there any more"))
    os.close(writer)
    assert first.startswith(b"20")
    assert re.search(r"\(\d+ lines were dropped: stderr was not read\)\n.* awake\n", second)


async def test_lines_gather_for_a_moment_and_a_warning_takes_them_along(tmp_path: Path) -> None:
    path = tmp_path / LOG_FILE
    with logs_written(LogSettings(), str(tmp_path)):
        logger.info("first")
        logger.info("second")
        assert not path.exists()
        logger.warning("third")
        assert [line.split()[-1] for line in path.read_text().splitlines()] == ["first", "second", "third"]


async def test_lines_that_gathered_are_written_before_long(tmp_path: Path) -> None:
    with logs_written(LogSettings(), str(tmp_path)):
        logger.info("first")
        loop = asyncio.get_running_loop()
        later = loop.create_future()
        loop.call_later(BUFFER_SECONDS, later.set_result, None)  # which comes after what was to come as soon
        await later
        assert (tmp_path / LOG_FILE).read_text().endswith("first\n")


async def test_a_flood_of_lines_does_not_gather_for_ever(tmp_path: Path) -> None:
    with logs_written(LogSettings(), str(tmp_path)):
        for number in range(MAX_BUFFERED):
            logger.info("line %d", number)
        assert len((tmp_path / LOG_FILE).read_text().splitlines()) == MAX_BUFFERED


async def test_what_has_gathered_is_written_at_the_end_and_by_other_threads(tmp_path: Path) -> None:
    path = tmp_path / LOG_FILE
    with logs_written(LogSettings(), str(tmp_path)):
        logger.info("first")
        await asyncio.to_thread(logger.info, "second")
        assert len(path.read_text().splitlines()) == 2
        logger.info("third")
    assert len(path.read_text().splitlines()) == 3


def test_the_lowest_level_has_a_name() -> None:
    assert " TRACE   codex_mcp.x " in line_for(logging.LogRecord("codex_mcp.x", TRACE, "", 0, "hello", None, None))


def test_the_loggers_are_afterwards_as_they_were(tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:], logging.getLogger().level, logging.getLogger("codex_mcp").level
    with logs_written(LogSettings(log_level=LogLevel.TRACE), str(tmp_path)):
        pass
    assert before == (logging.getLogger().handlers, logging.getLogger().level, logging.getLogger("codex_mcp").level)
