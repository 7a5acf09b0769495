"""These tests run on the Codex that comes with us; see tests/support/team/fixtures.py for another one."""

from tests.support.team.fixtures import codex_flags, team

__all__ = ["codex_flags", "team"]
