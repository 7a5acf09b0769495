import argparse
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.exec.rendezvous_flags import add_rendezvous_arguments, rendezvous_of

URL = "https://relay.example.com"


def given(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_rendezvous_arguments(parser)
    return parser.parse_args(flags)


def test_flags_win_over_variables(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("from the file\n")
    variables = {"CODEX_MCP_RENDEZVOUS_URL": "https://other.example.com", "CODEX_MCP_RENDEZVOUS_TOKEN": "variable"}
    assert rendezvous_of(given(), variables) == ("https://other.example.com", "variable")
    assert rendezvous_of(given("--rendezvous", URL, "--token-file", str(token)), variables) == (URL, "from the file")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ((), "no rendezvous given; use --rendezvous"),
        (("--rendezvous", "relay.example.com"), "its address looks like https://relay.example.com"),
        (("--rendezvous", URL), "no token given for the rendezvous; use --token-file FILE or set"),
        (("--rendezvous", URL, "--token-file", "/missing"), "cannot read the token file /missing: No such file"),
    ],
)
def test_what_is_missing_is_named(flags: tuple[str, ...], why: str) -> None:
    with pytest.raises(Refused, match=why):
        rendezvous_of(given(*flags), {})
