"""Flags and variables that say which rendezvous to use, and with which token."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from codex_mcp.access.token_files import read_token_file
from codex_mcp.base.errors import Refused

URL_VARIABLE: Final = "CODEX_MCP_RENDEZVOUS_URL"
TOKEN_VARIABLE: Final = "CODEX_MCP_RENDEZVOUS_TOKEN"


def add_rendezvous_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rendezvous", metavar="URL", help=f"its address, such as https://relay.example.com (default: ${URL_VARIABLE})"
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help=f"a file with the token (default: the variable ${TOKEN_VARIABLE})"
    )


def rendezvous_of(arguments: argparse.Namespace, environment: Mapping[str, str]) -> tuple[str, str]:
    """The address and the token. Raises Refused."""
    url = arguments.rendezvous or environment.get(URL_VARIABLE)
    if not url:
        raise Refused(f"no rendezvous given; use --rendezvous https://HOST or set {URL_VARIABLE}")
    if not url.startswith(("https://", "http://")):
        raise Refused(f"cannot use the rendezvous {url!r}: its address looks like https://relay.example.com")
    token = read_token(arguments.token_file) or environment.get(TOKEN_VARIABLE)
    if not token:
        raise Refused(f"no token given for the rendezvous; use --token-file FILE or set {TOKEN_VARIABLE}")
    return url, token


def read_token(path: str | None) -> str | None:
    """The token in a file. Raises Refused."""
    return None if path is None else read_token_file(path)
