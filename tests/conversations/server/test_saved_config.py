import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.conversations.server.saved_config import saved_config
from tests.support.json_values import JSON_VALUES

RECORDED = """
model = "mock-model"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
model_provider = "fake"
model_reasoning_effort = "high"
model_reasoning_summary = "detailed"
model_verbosity = "low"
profile = "p1"
[profiles.p1]
model = "prof-model"
approval_policy = "on-request"
[sandbox_workspace_write]
writable_roots = ["/writable"]
network_access = true
[tools]
web_search = false
"""


def test_the_recorded_file_is_shown_as_recorded() -> None:
    assert saved_config(msgspec.toml.decode(RECORDED)) == {
        "approvalPolicy": "untrusted",
        "sandboxMode": "danger-full-access",
        "sandboxSettings": {
            "writableRoots": ["/writable"],
            "networkAccess": True,
            "excludeTmpdirEnvVar": False,
            "excludeSlashTmp": False,
        },
        "model": "mock-model",
        "modelReasoningEffort": "high",
        "modelReasoningSummary": "detailed",
        "modelVerbosity": "low",
        "tools": {"webSearch": False},
        "profile": "p1",
        "profiles": {
            "p1": {
                "model": "prof-model",
                "modelProvider": None,
                "approvalPolicy": "on-request",
                "modelReasoningEffort": None,
                "modelReasoningSummary": None,
                "modelVerbosity": None,
                "chatgptBaseUrl": None,
            }
        },
    }


def test_an_empty_file_has_no_settings() -> None:
    assert saved_config({}) == {"profiles": {}}


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_no_file_is_too_strange(config: dict[str, object]) -> None:
    assert "profiles" in saved_config(config)
    assert "profiles" in saved_config({"sandbox_workspace_write": config, "tools": config, "profiles": config})
