"""The log of commands that talk with other machines, on stderr: one line for each message, whatever it quotes."""

from __future__ import annotations

import logging
import sys

from codex_mcp.base.printable import one_line, visible


class OneLine(logging.Formatter):
    """No message can imitate another line, or give the terminal orders. A traceback of ours has lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        return visible(super().formatException(ei))  # type: ignore[arg-type]


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler])
