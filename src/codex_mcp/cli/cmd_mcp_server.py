"""`codex-mcp mcp-server`: MCP over stdio, or over HTTP."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Final

from codex_mcp.cli.serving import add_serving_arguments, serve
from codex_mcp.mcp.tools.product import plain_product

DESCRIPTION: Final = "Serve Codex agents to an MCP client over stdin and stdout, or with --port to many over HTTP."


def configure(parser: argparse.ArgumentParser) -> None:
    add_serving_arguments(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    return serve(arguments, environment, cwd, lambda _, around: partial(plain_product, around=around))
