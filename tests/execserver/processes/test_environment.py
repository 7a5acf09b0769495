import pytest

from codex_mcp.execserver.processes.environment import child_environment
from codex_mcp.wire.exec.protocol import EnvPolicy, Inherit

OWN = {"PATH": "/bin", "Home": "/h", "LANG": "C", "API_KEY": "k", "my_token": "t", "OTHER": "o"}


def policy(inherit: Inherit = Inherit.ALL, **more: object) -> EnvPolicy:
    fields: dict[str, object] = {"ignore_default_excludes": True, "exclude": [], "set": {}, "include_only": []}
    return EnvPolicy(inherit=inherit, **(fields | more))  # type: ignore[arg-type]


def test_without_a_policy_the_environment_is_what_is_given() -> None:
    assert child_environment(OWN, None, {"A": "1"}) == {"A": "1"}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (policy(), OWN),
        (policy(Inherit.NONE), {}),
        (policy(Inherit.CORE), {"PATH": "/bin", "Home": "/h", "LANG": "C"}),
        (policy(ignore_default_excludes=False), {"PATH": "/bin", "Home": "/h", "LANG": "C", "OTHER": "o"}),
        (policy(Inherit.CORE, exclude=["pa*"]), {"Home": "/h", "LANG": "C"}),
        (policy(Inherit.CORE, include_only=["P*", "h?me"]), {"PATH": "/bin", "Home": "/h"}),
        (policy(Inherit.NONE, set={"S_KEY": "1"}, ignore_default_excludes=False), {"S_KEY": "1"}),
        (policy(Inherit.NONE, set={"A": "1", "B": "2"}, include_only=["b"]), {"B": "2"}),
    ],
)
def test_the_policy_cuts_what_is_inherited(rules: EnvPolicy, expected: dict[str, str]) -> None:
    assert child_environment(OWN, rules, {}) == expected


def test_what_the_request_gives_wins_over_the_policy() -> None:
    assert child_environment(OWN, policy(Inherit.CORE, include_only=["PATH"]), {"PATH": "x", "KEY": "y"}) == {
        "PATH": "x",
        "KEY": "y",
    }


def test_the_servers_own_credentials_go_to_nobody_even_in_disguise() -> None:
    given = {"codex_exec_server_noise_auth_token": "x", "OPENAI_IDENTITY_TOKEN_FILE=": "y", "A=B": "c", "": "z"}
    assert child_environment({}, None, given) == {"A": "B=c"}


@pytest.mark.parametrize("name", ["CODEX_ACCESS_TOKEN", "Codex_Mcp_Rendezvous_Token"])
def test_what_the_server_registers_with_is_never_inherited(name: str) -> None:
    assert child_environment({**OWN, name: "secret"}, policy(), {}) == OWN
