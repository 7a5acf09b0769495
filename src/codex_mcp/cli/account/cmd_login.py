"""`codex-mcp login`: sign in to OpenAI with the Codex that servers run here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.cli.account.codex_program import add_codex_arguments, replace_with_codex

DESCRIPTION: Final = (
    "Sign in to OpenAI: in a browser with a ChatGPT account, elsewhere with a code (--device), or with an API key "
    "(--with-api-key). Codex stores the sign-in in its folder, and all servers that use this folder share it."
)
STATUS: Final = "status"
KEY_COMMAND: Final = "printenv OPENAI_API_KEY | codex-mcp login --with-api-key"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"Codex does not read OPENAI_API_KEY by itself. To use it: {KEY_COMMAND}"
    parser.add_argument("what", nargs="?", choices=(STATUS,), help="only say whether you are signed in")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--device", "--device-auth", action="store_true", help="show a code to enter in a browser on any other machine"
    )
    ways.add_argument("--with-api-key", action="store_true", help="read an API key from stdin")
    add_codex_arguments(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    if arguments.what == STATUS:
        if arguments.with_api_key or arguments.device:
            raise Refused("`login status` takes no way to sign in")
        words = ["login", "status"]
    elif arguments.with_api_key:
        if sys.stdin.isatty():
            raise Refused(f"cannot read the API key: stdin is a terminal, which would show it; run {KEY_COMMAND}")
        words = ["login", "--with-api-key"]
    elif arguments.device:
        words = ["login", "--device-auth"]
    else:
        words = ["login"]
        print("No browser on this machine? Press Ctrl-C and run: codex-mcp login --device\n", file=sys.stderr)
    replace_with_codex(words, arguments, environment, cwd)
