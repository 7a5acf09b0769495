import pytest

from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.secrets.rules import compiled
from codex_mcp.base.secrets.shapes import KEY_KINDS, KNOWN, NAMED, TOKEN_KINDS


def test_every_rule_has_a_name_of_its_own_and_compiles() -> None:
    rules = (*NAMED, *KNOWN)
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in rules:
        compiled(rule.pattern)


@pytest.mark.parametrize("mark", ["", "_", "-"])
def test_keys_and_tokens_are_known_by_their_kind(mark: str) -> None:
    names = [f"{kind}{mark}{what}" for what, kinds in (("key", KEY_KINDS), ("token", TOKEN_KINDS)) for kind in kinds]
    for name in names:
        for written in (name, name.upper(), f"MY_{name}"):
            assert redact(f"{written}=abc") == f"{written}=****"
            assert redact(f'{{"{written}": "a b"}}') == f'{{"{written}": "****"}}'


@pytest.mark.parametrize(
    "text", ["primary_key=7", "cache-key: users", "keyboard=qwerty", "tokens=12", "tokenizer: bpe"]
)
def test_other_keys_and_tokens_are_shown(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "bash -lc \"export API_TOKEN=\\$'hidden words'\"",
        "SESSION_SECRET_V2=hidden",
        "API_TOKEN: |\n    hidden",
        "api_token: >-\n  hidden",
        "password: |2-\\n  hidden",
        '"auth": "dXNlcjpwYXNz"',
        "password: !!str hidden",
        "password = '''hidden words'''",
        'password = """hidden words"""',
        "DB_PW=hidden",
        "gh auth login --with-token <<< hidden",
    ],
)
def test_a_value_is_found_behind_what_a_shell_or_yaml_writes_before_it(text: str) -> None:
    masked = redact(text)
    assert "hidden" not in masked
    assert "words" not in masked
    assert "dXNl" not in masked
    assert "****" in masked


@pytest.mark.parametrize("text", ['"auth": "oauthClientCredentials"', '"auth": "BearerAuth"', "tokens: |\n  a list"])
def test_names_of_methods_and_other_texts_are_shown(text: str) -> None:
    assert redact(text) == text
