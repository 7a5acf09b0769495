"""What is said of a configuration that this Codex does not understand."""

from typing import Any

import pytest

from codex_mcp.base.errors import Notice
from codex_mcp.codex.versions.release import Release, Unused

FAILED = "failed to load configuration: "
NO_PROVIDER = f"{FAILED}Model provider `gcp` not found"
IN_FILE = f"{FAILED}/home/me/.codex/config.toml:1:14: unknown variant `warp`, expected one of `cached`, `live`"
NEWER = Unused("codex is Codex 9.9.9, which has not been tried yet", "try it", is_newer=True)
OLDER = Unused("codex is Codex 0.100.0, which is older", "update it")


@pytest.mark.parametrize(
    "refusal",
    [
        NO_PROVIDER,
        IN_FILE,
        "failed to resolve feature override precedence: Model provider `gcp` not found",
        "invalid configuration: invalid type: integer `3`, expected a string\nin `model_provider`\n",
        f"{FAILED}config.toml:2:1: unknown field `depth`, expected `name`",
        f"{FAILED}config.toml:2:1: missing field `name`",
        f"{FAILED}config.toml:2:1: data did not match any variant of untagged enum Tools",
    ],
)
def test_what_a_newer_codex_may_know_names_the_version_as_the_likely_cause(refusal: str) -> None:
    said = str(Release("0.163.0", NEWER).explained(refusal, {}))
    assert said == (
        f"{refusal.strip()}: the likely cause is that this is Codex 0.163.0, while codex is Codex 9.9.9, which has not "
        "been tried yet; try it, then start this server again"
    )
    alone = Release("0.163.0", OLDER).explained(refusal, {})
    assert alone == Release("0.163.0").explained(refusal, {})
    assert "the likely cause is that this is Codex 0.163.0, and a newer one " in alone.problem
    assert alone.fix == "name a newer Codex as codex_version, or correct the setting"


@pytest.mark.parametrize(
    "refusal",
    [
        f"{FAILED}config.toml:1:10: unclosed table",
        f'{FAILED}legacy `profile = "x"` config is no longer supported',
        "Invalid request: unknown variant `none`",
        "thread not found: t",
    ],
)
def test_what_no_other_version_would_take_is_left_as_it_is(refusal: str) -> None:
    assert Release("0.163.0", NEWER).explained(refusal, {}) == Notice(refusal)


@pytest.mark.parametrize(
    "asked", [{"model_provider": "gcp"}, {"profiles.x": {"model_provider": "gcp"}}, {"gcp.colour": 1}]
)
def test_what_a_call_names_itself_is_its_sender_s_to_correct_unless_there_is_a_newer_codex(asked: Any) -> None:
    assert Release("0.163.0").explained(NO_PROVIDER, asked) == Notice(NO_PROVIDER)
    assert "while codex is Codex 9.9.9" in Release("0.163.0", NEWER).explained(NO_PROVIDER, asked).problem
    in_file = Release("0.163.0").explained(IN_FILE, {"web_search": "warp"})
    assert "the likely cause" in in_file.problem


def test_without_a_version_nothing_is_said_of_it() -> None:
    assert Release().explained(NO_PROVIDER, {}) == Notice(NO_PROVIDER)
