"""The rendezvous in numbers, for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

PREFIX = "codex_mcp_rendezvous"


class Metrics(Collector):
    def __init__(self, executors: Callable[[], int], streams: Callable[[], int], sockets: Callable[[], int]) -> None:
        self._gauges = (
            ("executors", "Executors that are connected.", executors),
            ("streams", "Streams between executors and harnesses.", streams),
            ("sockets", "Relay sockets.", sockets),
        )
        self.frames = 0
        self.bytes = 0
        self.unreadable = 0
        self.too_slow = 0
        self.answers: Counter[tuple[str, int]] = Counter()
        """By request and status."""
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def sent(self, size: int) -> None:
        self.frames += 1
        self.bytes += size

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        for name, about, value in self._gauges:
            yield GaugeMetricFamily(f"{PREFIX}_{name}", about, value=value())
        yield CounterMetricFamily(f"{PREFIX}_frames", "Frames that were passed on.", value=self.frames)
        yield CounterMetricFamily(f"{PREFIX}_bytes", "Bytes of these frames.", value=self.bytes)
        yield CounterMetricFamily(f"{PREFIX}_unreadable_frames", "What was not a frame.", value=self.unreadable)
        yield CounterMetricFamily(f"{PREFIX}_slow_sockets", "Sockets closed because they were not read.", self.too_slow)
        answers = CounterMetricFamily(f"{PREFIX}_requests", "HTTP requests.", labels=["request", "status"])
        for (request, status), count in self.answers.items():
            answers.add_metric([request, str(status)], count)
        yield answers
