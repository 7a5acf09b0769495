import pytest

from codex_mcp.conversations.policies import core_policy
from codex_mcp.rpc.errors import RequestFailed


def test_each_mode_has_its_policy() -> None:
    assert core_policy({"mode": "danger-full-access"}, "/") == {"type": "dangerFullAccess"}
    assert core_policy({"type": "read-only"}, "/") == {"type": "readOnly", "networkAccess": False}
    snake: dict[str, object] = {"mode": "workspace-write", "writable_roots": ["sub", "/other"], "network_access": True}
    camel: dict[str, object] = {"mode": "workspace-write", "writableRoots": ["sub", "/other"], "networkAccess": True}
    expected = {
        "type": "workspaceWrite",
        "writableRoots": ["/folder/sub", "/other"],
        "networkAccess": True,
        "excludeTmpdirEnvVar": False,
        "excludeSlashTmp": False,
    }
    assert core_policy(snake, "/folder") == core_policy(camel, "/folder") == expected


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"mode": "none"},
        {"mode": "workspace-write", "writable_roots": "/"},
        {"mode": 1},
        {"type": "externalSandbox"},
    ],
)
def test_a_policy_that_is_not_known_is_refused(policy: dict[str, object]) -> None:
    with pytest.raises(RequestFailed, match="sandboxPolicy"):
        core_policy(policy, "/")
