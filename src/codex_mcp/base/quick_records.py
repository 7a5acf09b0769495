"""Log records without the fields that our log lines do not show: the code location, the thread and the process.

Finding these takes as long as the rest of a line, and a call over HTTP writes two lines.
"""

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

UNKNOWN: Final[Mapping[str, object]] = {
    **dict.fromkeys(("pathname", "filename", "module"), "(unknown)"),
    **dict.fromkeys(("funcName", "thread", "threadName", "process", "processName", "taskName"), None),
    **dict.fromkeys(("lineno", "relativeCreated"), 0),
}
"""Defaults for other formatters."""


class QuickRecord(logging.LogRecord):
    """A record with the fields that our lines need, and defaults for the others."""

    def __init__(self, name: str, level: int, _pathname: str, _lineno: int, msg: object, *more: Any) -> None:
        args, exc_info = more[0], more[1]
        # A single mapping fills a text with names (%(name)s).
        if args and len(args) == 1 and type(args[0]) is not str and isinstance(args[0], Mapping) and args[0]:
            args = args[0]
        now = time.time()
        self.__dict__.update(
            UNKNOWN,
            name=name,
            msg=msg,
            args=args,
            levelno=level,
            levelname=logging.getLevelName(level),
            exc_info=exc_info,
            exc_text=None,
            stack_info=more[3] if len(more) > 3 else None,
            created=now,
            msecs=int(now % 1 * 1000),
        )


@contextlib.contextmanager
def quick_records() -> Iterator[None]:
    """Create such records within this block, without looking for the code location."""
    factory, source = logging.getLogRecordFactory(), logging._srcfile
    logging.setLogRecordFactory(QuickRecord)
    logging._srcfile = None
    try:
        yield
    finally:
        logging.setLogRecordFactory(factory)
        logging._srcfile = source
