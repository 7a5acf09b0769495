"""Quick records say what a line needs, and whatever reads records can read them."""

import logging

import pytest

from codex_mcp.base.quick_records import QuickRecord, quick_records

logger = logging.getLogger("tests.quick_records")


class Kept(logging.Handler):
    """Keeps what was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.records.append(record)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_a_record_has_its_text_level_name_and_error(kept: Kept) -> None:
    logger.addHandler(kept)
    try:
        with quick_records():
            logger.warning("%s of %d", "one", 2)
            logger.warning("%(who)s", {"who": "ada"})
            logger.warning("100 %")
            try:
                raise ValueError("broken")
            except ValueError:
                logger.exception("it failed", stack_info=True)
        logger.warning("an ordinary one")
    finally:
        logger.removeHandler(kept)
    assert [type(record) is QuickRecord for record in kept.records] == [True, True, True, True, False]
    assert [record.getMessage() for record in kept.records[:4]] == ["one of 2", "ada", "100 %", "it failed"]
    assert {record.levelname for record in kept.records[:3]} == {"WARNING"}
    assert {record.name for record in kept.records} == {"tests.quick_records"}
    text = logging.Formatter("%(asctime)s %(pathname)s %(lineno)d %(threadName)s %(message)s").format(kept.records[3])
    assert "it failed" in text
    assert "ValueError: broken" in text
    assert kept.records[-1].lineno > 0


def test_its_time_is_that_of_an_ordinary_record() -> None:
    before = logging.LogRecord("n", logging.INFO, "p", 1, "m", (), None)
    quick = QuickRecord("n", logging.INFO, "p", 1, "m", (), None)
    after = logging.LogRecord("n", logging.INFO, "p", 1, "m", (), None)
    assert before.created <= quick.created <= after.created
    assert 0 <= quick.msecs < 1000
