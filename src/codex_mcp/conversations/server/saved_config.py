"""Pure. The user's config.toml as `getUserSavedConfig` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Json = dict[str, object]

PLAIN: Final = {
    "approval_policy": "approvalPolicy",
    "sandbox_mode": "sandboxMode",
    "model": "model",
    "model_reasoning_effort": "modelReasoningEffort",
    "model_reasoning_summary": "modelReasoningSummary",
    "model_verbosity": "modelVerbosity",
    "profile": "profile",
}
SANDBOX: Final = {
    "network_access": "networkAccess",
    "exclude_tmpdir_env_var": "excludeTmpdirEnvVar",
    "exclude_slash_tmp": "excludeSlashTmp",
}
TOOLS: Final = {"web_search": "webSearch", "view_image": "viewImage"}
PROFILE: Final = {
    "model": "model",
    "model_provider": "modelProvider",
    "approval_policy": "approvalPolicy",
    "model_reasoning_effort": "modelReasoningEffort",
    "model_reasoning_summary": "modelReasoningSummary",
    "model_verbosity": "modelVerbosity",
    "chatgpt_base_url": "chatgptBaseUrl",
}


def saved_config(config: Mapping[str, object]) -> Json:
    """Unset fields are absent, but those of a profile are null, as in 0.42.0."""
    shown = _renamed(config, PLAIN)
    sandbox = config.get("sandbox_workspace_write")
    if isinstance(sandbox, Mapping):
        roots = {"writableRoots": sandbox.get("writable_roots", [])}
        shown["sandboxSettings"] = {**roots, **dict.fromkeys(SANDBOX.values(), False), **_renamed(sandbox, SANDBOX)}
    tools = config.get("tools")
    if isinstance(tools, Mapping):
        shown["tools"] = _renamed(tools, TOOLS)
    profiles = config.get("profiles")
    named = profiles if isinstance(profiles, Mapping) else {}
    shown["profiles"] = {
        name: {**dict.fromkeys(PROFILE.values()), **_renamed(profile, PROFILE)}
        for name, profile in named.items()
        if isinstance(profile, Mapping)
    }
    return shown


def _renamed(table: Mapping[str, object], names: Mapping[str, str]) -> Json:
    return {shown: table[name] for name, shown in names.items() if table.get(name) is not None}
