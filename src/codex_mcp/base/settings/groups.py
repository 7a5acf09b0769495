"""Pure. All settings. The Structs of the groups are the table of settings: each field is a setting.

Its annotation has the type, the kind of value with its bounds, and the help of its flag; its value is the default; the
text below it gives details and the reason for the default. From this come flags, variables and keys of settings files
(config/load.py), `--help`, `codex-mcp config`, and docs/settings.md (`make settings`). A package is given only the
groups that it needs. Times are in seconds, sizes in bytes.

These are msgspec Structs: a dataclass of this size costs 3 ms of the time to the first answer, a Struct 0.2 ms.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from codex_mcp.base.settings import kinds
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.core import CoreSettings, ExecSettings, LogSettings
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.settings.kinds import Setting
from codex_mcp.base.settings.team import TeamSettings

G = TypeVar("G", bound=Struct)


class Settings(Struct, frozen=True, kw_only=True):
    """All settings of a server."""

    core: CoreSettings
    calls: CallSettings = CallSettings()
    http: HttpSettings = HttpSettings()
    team: TeamSettings = TeamSettings()
    log: LogSettings = LogSettings()

    # Until every package takes its own group.
    @property
    def codex_home(self) -> str:
        return self.core.codex_home

    @property
    def codex_bin(self) -> str | None:
        return self.core.codex_bin

    @property
    def allow_untested_codex(self) -> bool:
        return self.core.allow_untested_codex

    @property
    def backend(self) -> kinds.Backend:
        return self.core.backend

    @property
    def overrides(self) -> tuple[str, ...]:
        return self.core.overrides

    @property
    def profile(self) -> str | None:
        return self.core.profile

    @property
    def scripted(self) -> str | None:
        return self.core.scripted

    @property
    def trust_repo_settings(self) -> bool:
        return self.core.trust_repo_settings

    @property
    def start_timeout(self) -> float:
        return self.core.start_timeout

    @property
    def request_timeout(self) -> float:
        return self.core.request_timeout

    @property
    def max_requests_in_flight(self) -> int:
        return self.core.max_requests_in_flight

    @property
    def max_message_bytes(self) -> int:
        return self.core.max_message_bytes

    @property
    def exec_server(self) -> str | None:
        return self.core.exec.exec_server

    @property
    def exec_server_token(self) -> str | None:
        return self.core.exec.exec_server_token

    @property
    def events(self) -> kinds.Events:
        return self.calls.events

    @property
    def protocol(self) -> kinds.Protocol:
        return self.calls.protocol

    @property
    def approval_timeout(self) -> float:
        return self.calls.approval_timeout

    @property
    def soft_deadline(self) -> float | None:
        return self.calls.soft_deadline

    @property
    def progress_interval(self) -> float:
        return self.calls.progress_interval

    @property
    def unreachable_timeout(self) -> float:
        return self.calls.unreachable_timeout

    @property
    def interrupt_grace(self) -> float:
        return self.calls.interrupt_grace

    @property
    def shutdown_grace(self) -> float:
        return self.calls.shutdown_grace

    @property
    def max_turns_waiting(self) -> int:
        return self.calls.max_turns_waiting

    @property
    def outbox_bytes(self) -> int:
        return self.calls.outbox_bytes

    @property
    def finished_turns_kept(self) -> int:
        return self.calls.finished_turns_kept

    @property
    def thread_idle(self) -> float:
        return self.calls.thread_idle

    @property
    def threads_per_principal(self) -> int:
        return self.calls.threads_per_principal

    @property
    def turns_per_principal(self) -> int:
        return self.calls.turns_per_principal

    @property
    def queued_turns_per_principal(self) -> int:
        return self.calls.queued_turns_per_principal

    @property
    def queued_bytes_per_principal(self) -> int:
        return self.calls.queued_bytes_per_principal

    @property
    def port(self) -> int | None:
        return self.http.port

    @property
    def host(self) -> str:
        return self.http.host

    @property
    def tokens(self) -> str | None:
        return self.http.tokens

    @property
    def generate_token(self) -> bool:
        return self.http.generate_token

    @property
    def jwks(self) -> str | None:
        return self.http.jwks

    @property
    def jwt_issuer(self) -> str | None:
        return self.http.jwt_issuer

    @property
    def jwt_audience(self) -> str | None:
        return self.http.jwt_audience

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        return self.http.allowed_hosts

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        return self.http.allowed_origins

    @property
    def tls_cert(self) -> str | None:
        return self.http.tls_cert

    @property
    def tls_key(self) -> str | None:
        return self.http.tls_key

    @property
    def max_sessions(self) -> int:
        return self.http.max_sessions

    @property
    def sessions_per_principal(self) -> int:
        return self.http.sessions_per_principal

    @property
    def sessions_per_address(self) -> int:
        return self.http.sessions_per_address

    @property
    def session_idle(self) -> float:
        return self.http.session_idle

    @property
    def strict_sessions(self) -> bool:
        return self.http.strict_sessions

    @property
    def quiet_time(self) -> float:
        return self.http.quiet_time

    @property
    def ping_interval(self) -> float:
        return self.http.ping_interval

    @property
    def max_body_bytes(self) -> int:
        return self.http.max_body_bytes

    @property
    def session_inbox(self) -> int:
        return self.http.session_inbox

    @property
    def subscriber_queue(self) -> int:
        return self.http.subscriber_queue

    @property
    def slow_reader(self) -> kinds.SlowReader:
        return self.http.slow_reader

    @property
    def stall_timeout(self) -> float:
        return self.http.stall_timeout

    @property
    def requests_per_second(self) -> float:
        return self.http.requests_per_second

    @property
    def default_identity(self) -> str:
        return self.team.default_identity

    @property
    def role(self) -> str | None:
        return self.team.role

    @property
    def state_dir(self) -> str:
        return self.team.state_dir

    @property
    def turn_timeout(self) -> float:
        return self.team.turn_timeout

    @property
    def max_concurrent_threads(self) -> int:
        return self.team.max_concurrent_threads

    @property
    def model(self) -> str | None:
        return self.team.model

    @property
    def reasoning_effort(self) -> str | None:
        return self.team.reasoning_effort

    @property
    def sandbox(self) -> kinds.Sandbox | None:
        return self.team.sandbox

    @property
    def approval_policy(self) -> kinds.ApprovalPolicy | None:
        return self.team.approval_policy

    @property
    def base_prompt_file(self) -> str | None:
        return self.team.base_prompt_file

    @property
    def extra_instructions_file(self) -> str | None:
        return self.team.extra_instructions_file

    @property
    def auto_mail(self) -> bool:
        return self.team.auto_mail

    @property
    def turns_per_hour(self) -> int:
        return self.team.turns_per_hour

    @property
    def tokens_per_thread(self) -> int:
        return self.team.tokens_per_thread

    @property
    def tokens_per_team(self) -> int:
        return self.team.tokens_per_team

    @property
    def max_hops(self) -> int:
        return self.team.max_hops

    @property
    def summary_timeout(self) -> float:
        return self.team.summary_timeout

    @property
    def log_level(self) -> kinds.LogLevel | None:
        return self.log.log_level

    @property
    def log_file_bytes(self) -> int:
        return self.log.log_file_bytes

    @property
    def log_files_kept(self) -> int:
        return self.log.log_files_kept

    @property
    def otlp_endpoint(self) -> str | None:
        return self.log.otlp_endpoint

    # End.


GROUPS: dict[str, type[Struct]] = {
    "core": CoreSettings,
    "exec": ExecSettings,
    "calls": CallSettings,
    "http": HttpSettings,
    "team": TeamSettings,
    "log": LogSettings,
}

SETTINGS: dict[str, Setting] = {
    name: hint.__metadata__[0]
    for group in GROUPS.values()
    for name, hint in group.__annotations__.items()
    if hasattr(hint, "__metadata__")
}
"""Every setting by its name."""


def settings_of(values: Mapping[str, object]) -> Settings:
    """The settings with these values, and defaults for the others."""
    core = _group(CoreSettings, {**values, "exec": _group(ExecSettings, values)})
    return Settings(
        core=core,
        calls=_group(CallSettings, values),
        http=_group(HttpSettings, values),
        team=_group(TeamSettings, values),
        log=_group(LogSettings, values),
    )


def values_of(settings: Settings) -> dict[str, object]:
    """The values of all settings, by name."""
    groups = (settings.core, settings.core.exec, settings.calls, settings.http, settings.team, settings.log)
    return {name: getattr(group, name) for group in groups for name in group.__struct_fields__ if name in SETTINGS}


def _group(group: type[G], values: Mapping[str, object]) -> G:
    return group(**{name: values[name] for name in group.__struct_fields__ if name in values})
