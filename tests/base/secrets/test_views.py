"""A secret that a shell, a terminal or both of them wrap is found in the text as it is meant to be read."""

import shlex

import pytest

from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.secrets.views import views

COMMANDS = (
    "export API_TOKEN='a hunter2'",
    "export API_TOKEN=$'hunter2'",
    "curl -u 'me:hunter2' http://host",
    "PGPASSWORD='hunter2' psql",
    "sshpass -p 'hunter2' ssh host",
    "docker login -u me -p 'hunter2'",
    "python3 -c \"password='hunter2'\"",
    "API_TOKEN='\x1b[31mhunter2' run",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_however_often_a_command_is_quoted_its_secret_is_masked(command: str) -> None:
    for _ in range(4):
        masked = redact(command)
        assert "hunter2" not in masked
        assert masked.startswith(command[:3])
        command = shlex.join(["bash", "-c", command])


def test_quotes_without_a_secret_stay() -> None:
    text = shlex.join(["bash", "-c", shlex.join(["echo", "it's", "a 'text'"])])
    assert redact(text) == text


def test_quotes_in_quotes_are_read_to_a_limited_depth() -> None:
    deeper = "'" + r"\''" * 1000
    whole, (unquoted, _), _ = views(deeper, deeper)
    assert whole[0] == deeper
    assert 1 < len(unquoted) < len(deeper)


def test_a_quote_in_quotes_is_masked_as_the_secret_that_it_may_be() -> None:
    assert redact(r"password='\'''") == "password='****''"
