from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.secrets.client_variables import is_of_session, without_client_secrets, without_session

OTHERS = {"PATH": "/bin", "CLAUDECODE": "1", "CLAUDE_CONFIG_DIR": "/c", "MY_CLAUDE_CODE_SESSION_ID": "mine"}

OF_SESSION = {
    "CLAUDE_CODE_SESSION_ID": "a",
    "CLAUDE_CODE_MESSAGING_SOCKET": "b",
    "CLAUDE_CODE_MESSAGING_TOKEN": "c",
    "CLAUDE_SESSION_ID": "d",
}

SECRETS = {"ANTHROPIC_API_KEY": "e", "ANTHROPIC_AUTH_TOKEN": "f", "CLAUDE_CODE_OAUTH_TOKEN": "g"}


def test_children_get_nothing_of_the_client() -> None:
    assert without_client_secrets({**OTHERS, **OF_SESSION, **SECRETS}, []) == OTHERS
    assert without_session({**OTHERS, **OF_SESSION, **SECRETS}) == {**OTHERS, **SECRETS}


def test_an_override_may_name_a_secret_but_nothing_of_the_session() -> None:
    named = [f'mcp_servers.x.env_vars=["{name}"]' for name in (*OF_SESSION, *SECRETS)]
    assert without_client_secrets({**OTHERS, **OF_SESSION, **SECRETS}, named) == {**OTHERS, **SECRETS}


@given(st.dictionaries(st.sampled_from([*OTHERS, *OF_SESSION, *SECRETS]), st.text()), st.lists(st.text()))
def test_whatever_is_set_nothing_of_the_session_is_left(environment: dict[str, str], overrides: list[str]) -> None:
    left = without_client_secrets(environment, overrides)
    assert not any(is_of_session(name) for name in left)
    assert left.items() <= environment.items()
