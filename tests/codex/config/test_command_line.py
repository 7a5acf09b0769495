"""What every user of the machine may read of the overrides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.config.command_line import visible_overrides
from codex_mcp.codex.config.overrides import parse_override, parse_overrides

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("override", "shown"),
    [
        ("model=o3", ['model="o3"']),
        ("features.plugins=true", ["features.plugins=true"]),
        ("model_provider=x", ['model_provider="x"']),
        ("approval_policy=never", ['approval_policy="never"']),
        (
            f'model_providers.x={{name="X", base_url="http://h/v1", experimental_bearer_token="{SECRET}"}}',
            ['model_providers.x.name="X"', 'model_providers.x.base_url="http://h/v1"'],
        ),
        (f'model_providers.x.base_url="https://{SECRET}@h:1/v1?key={SECRET}#{SECRET}"', ["https://h:1/v1"]),
        (f'model_providers.x.http_headers={{a="{SECRET}"}}', []),
        (f"mcp_servers.x.env.TOKEN={SECRET}", []),
        (f'mcp_servers.x={{command="y", args=["{SECRET}"]}}', []),
        (f"shell_environment_policy.set.A={SECRET}", []),
        ("mcp_servers.x.env.PIN=1234", []),
        (f"developer_instructions={SECRET}", []),
        (f'otel.exporter.otlp-http={{endpoint="https://{SECRET}@h", headers={{a="{SECRET}"}}}}', ["https://h"]),
        ('projects={"/a.b"={trust_level="trusted"}}', []),
    ],
)
def test_what_is_on_the_command_line(override: str, shown: list[str]) -> None:
    found = visible_overrides(parse_overrides([override]))
    assert SECRET not in " ".join(found)
    assert len(found) == len(shown)
    for text, expected in zip(found, shown, strict=True):
        assert expected in text


@given(st.text(max_size=20))
def test_what_is_shown_is_read_by_codex_as_it_was_meant(name: str) -> None:
    (text,) = visible_overrides({"model": name})
    if "\x7f" not in name and "://" not in name:
        assert parse_override(text) == ("model", name)
