"""What commands that serve have in common."""

import argparse

from codex_mcp.cli.serving import add_serving_arguments


def test_features_are_switched_as_codex_does_it() -> None:
    parser = argparse.ArgumentParser()
    add_serving_arguments(parser, with_team=True)
    arguments = parser.parse_args(["--enable", "a", "--disable", "b", "--team", "red"])
    assert (arguments.enable, arguments.disable, arguments.team) == (["a"], ["b"], "red")
