"""Pure. What the rest of the house knows of a core: how threads and turns are described to it, and how it fails.

There is one implementation today (`codex.client`, on `codex app-server`); a second one for older Codex releases will
stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Raw, Struct, field

from codex_mcp.base.errors import Explained

LOCAL_ENVIRONMENT: Final = "local"
EXEC_ENVIRONMENT: Final = "exec-server"
"""The places where commands may run, by Codex's name and by ours."""


class ThreadSpec(Struct, frozen=True):
    """How a thread shall be set up. What is None is left to Codex's own configuration."""

    cwd: str | None = None
    model: str | None = None
    approval_policy: str | None = None
    sandbox: str | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    """Dotted keys of config.toml and their values. Codex does not store them: they are sent again at every resume."""
    raw_events: bool = False
    """Ask for the model's raw items as well."""
    environment: str | None = None
    """Where commands run: `LOCAL_ENVIRONMENT` or `EXEC_ENVIRONMENT`. None where there is only one place."""


class OpenedThread(Struct, frozen=True):
    """A thread that the core has loaded."""

    thread_id: str
    cwd: str
    response: Raw
    """The whole answer, for those who need more of it."""


class TurnSpec(Struct, frozen=True):
    """What the agent shall do next."""

    prompt: str
    images: tuple[str, ...] = ()
    """URLs (http, https, data) or absolute paths of image files."""
    output_schema: Mapping[str, object] | None = None
    """The answer shall be JSON of this schema."""


class CoreError(Explained):
    """The core refused, or there is none. The text is a sentence for the caller."""


class CoreLost(CoreError):
    """The core died, or was stopped, before it answered."""


class ThreadNotFound(CoreError):
    """No such thread, neither loaded nor on disk."""


class BadThreadId(CoreError):
    """That is no thread id at all."""


class ConfigRefused(CoreError):
    """Codex cannot use this configuration."""
