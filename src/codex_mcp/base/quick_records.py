"""Log records without what no line of ours shows: the place in the code, the thread and the process.

Finding these takes as long as all the rest of a line, and a call over HTTP writes two lines.
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
"""What other formatters may ask for."""


class QuickRecord(logging.LogRecord):
    """What a line needs. Whoever asks for more gets a default."""

    def __init__(self, name: str, level: int, _pathname: str, _lineno: int, msg: object, *more: Any) -> None:
        args, exc_info, _function, stack_info = (*more, None, None)[:4]
        self.__dict__.update(UNKNOWN)
        self.name = name
        self.msg = msg
        # One mapping is what a text with names (%(name)s) is filled from.
        self.args = args[0] if args and len(args) == 1 and isinstance(args[0], Mapping) and args[0] else args
        self.levelno = level
        self.levelname = logging.getLevelName(level)
        self.exc_info = exc_info
        self.exc_text = None
        self.stack_info = stack_info
        self.created = now = time.time()
        self.msecs = int((now - int(now)) * 1000)


@contextlib.contextmanager
def quick_records() -> Iterator[None]:
    """Make such records while inside, and do not look for the place in the code."""
    factory, source = logging.getLogRecordFactory(), logging._srcfile
    logging.setLogRecordFactory(QuickRecord)
    logging._srcfile = None
    try:
        yield
    finally:
        logging.setLogRecordFactory(factory)
        logging._srcfile = source
