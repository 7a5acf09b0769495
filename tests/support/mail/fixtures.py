"""The mail files that real programs wrote, and those that are made up after them."""

from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "mail" / "fixtures"


def inbox_bytes(name: str) -> bytes:
    """An inbox file."""
    return (FIXTURES / "inboxes" / f"{name}.json").read_bytes()


def config_bytes(name: str) -> bytes:
    """The configuration of a team."""
    return (FIXTURES / "configs" / f"{name}.json").read_bytes()
