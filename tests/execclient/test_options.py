"""What is assumed when nothing is said."""

from codex_mcp.execclient.options import DEFAULT_LAUNCH, DEFAULT_OPTIONS
from codex_mcp.execclient.recovery import RECOVERY_SECONDS
from codex_mcp.wire.exec.protocol import Inherit

SERVER_KEEPS_SESSIONS = 30.0
"""Seconds that a server keeps a session without a connection."""


def test_recovery_ends_before_the_server_forgets_the_session() -> None:
    assert DEFAULT_OPTIONS.recovery_seconds == RECOVERY_SECONDS < SERVER_KEEPS_SESSIONS


def test_a_process_inherits_the_servers_environment_but_not_its_secrets() -> None:
    policy = DEFAULT_LAUNCH.env_policy
    assert policy is not None
    assert policy.inherit is Inherit.ALL
    assert not policy.ignore_default_excludes
