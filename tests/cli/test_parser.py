"""The parser of command lines; most of it is tested through the commands (test_main.py)."""

import pytest

from codex_mcp.cli.parser import Parser


def test_python_3_14_may_pass_its_own_keywords_to_the_parsers_of_subcommands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser = Parser("codex-mcp", "Codex.", color=True, suggest_on_error=False)
    parser.add_subparsers().add_parser("doctor", help="check")
    parser.print_help()
    shown = capsys.readouterr().out
    assert "doctor" in shown
    assert "\x1b" not in shown
