"""The part of `/metrics` about a team: its agents, and what became of their mail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from codex_mcp.team.mail.counts import SECONDS, CountKind, MailCounts
from codex_mcp.team.team import TeamMeasure


class TeamMetrics(Collector):
    def __init__(self, measure: Callable[[], TeamMeasure]) -> None:
        self._measure = measure

    def collect(self) -> Iterable[Metric]:
        found = self._measure()
        agents = GaugeMetricFamily("codex_mcp_agents", "Agents that run here, by state.", labels=["team", "state"])
        agents.add_metric([found.team, "busy"], found.busy)
        agents.add_metric([found.team, "idle"], found.idle)
        yield agents
        for name, help_text, value in (
            ("agent_prompts_waiting", "Prompts that wait for an agent.", found.queued),
            ("agent_questions_open", "Questions of agents that wait for a person.", found.questions),
            ("agent_tokens", "Tokens that the agents that run here have used.", found.tokens),
        ):
            gauge = GaugeMetricFamily(f"codex_mcp_{name}", help_text, labels=["team"])
            gauge.add_metric([found.team], value)
            yield gauge
        yield from _mail(found.mail, found.team)


def _mail(counts: MailCounts, own: str) -> Iterator[Metric]:
    """By team: that of the server, and one of Claude Code in which its agents are members."""
    messages = CounterMetricFamily("codex_mcp_mail", "Messages to agents, by outcome.", labels=["team", "outcome"])
    times = HistogramMetricFamily(
        "codex_mcp_mail_seconds", "Time from the writing of a message to the beginning of its turn.", labels=["team"]
    )
    for team in sorted({own, *counts.teams}):
        for kind in CountKind:
            messages.add_metric([team, kind], counts.total(team, kind))
        waits = counts.waits(team)
        limits = [*(str(limit) for limit in SECONDS), "+Inf"]
        times.add_metric([team], list(zip(limits, waits.buckets, strict=True)), waits.total)
    yield messages
    yield times
