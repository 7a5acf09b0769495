"""`codex-mcp mail`: send, read, list, ack, broadcast, watch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.cli.mail import reading, sending
from codex_mcp.cli.mail.place import Place, add_arguments, place_of
from codex_mcp.cli.parser import whole_number

DESCRIPTION: Final = "Read and write team mail: the messages of agents, Claude Code and people. See docs/mail.md."

Action = Callable[[argparse.Namespace, Place], int]

ACTIONS: Final[Mapping[str, tuple[str, Action]]] = {
    "send": ("send a message", sending.send),
    "read": ("show your new messages, and mark them as read", reading.read),
    "list": ("list the inboxes of the team", reading.list_inboxes),
    "ack": ("acknowledge a message, with an answer to its sender", sending.acknowledge),
    "broadcast": ("send a message to every member of the team", sending.broadcast),
    "watch": ("show new messages as they come", reading.watch),
}

TEXT_HELP: Final = "the text; - is all of stdin"


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, (summary, _) in ACTIONS.items():
        action = commands.add_parser(name, help=summary, description=f"{summary.capitalize()}.")
        if add := ARGUMENTS.get(name):
            add(action)
        add_arguments(action)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    return ACTIONS[arguments.action][1](arguments, place_of(arguments, environment, cwd))


def _send_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("to", metavar="TO", help="an agent of the team, or AGENT@TEAM")
    _text_arguments(parser)
    parser.add_argument("--allow-unknown", action="store_true", help="create the inbox, and the team, if it is missing")


def _text_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help=TEXT_HELP)
    parser.add_argument("--summary", metavar="TEXT", help="a short form (default: the beginning of the text)")
    parser.add_argument("--urgent", action="store_true", help="a busy agent may get it in the middle of its turn")


def _read_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--peek", action="store_true", help="leave them unread")
    parser.add_argument("--all", action="store_true", help="include messages that were read before")
    parser.add_argument("--from", dest="sender", metavar="NAME", help="only from this sender")
    parser.add_argument("--since", metavar="TIME", type=_time, help="only sent then or later, as in 2026-11-15T10:00Z")
    parser.add_argument("--limit", metavar="N", type=whole_number, help="at most so many, the oldest first")


def _ack_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message_id", metavar="ID", help="the message's id, as read shows it")
    parser.add_argument("text", metavar="TEXT", help="the answer to its sender; - is all of stdin")


ARGUMENTS: Final[Mapping[str, Callable[[argparse.ArgumentParser], None]]] = {
    "send": _send_arguments,
    "read": _read_arguments,
    "ack": _ack_arguments,
    "broadcast": _text_arguments,
}


def _time(text: str) -> float:
    try:
        return parse_timestamp(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"cannot use {text!r}: it must be a time, such as 2026-11-15T10:00Z") from None
