"""Pure. How far a message came on its way into an agent's prompt, and what is recorded at each step.

    stage      OFFER                       START     FINISH   WITHDRAW
    –          OFFERED, delivered          STARTED   READ     –
    OFFERED    OFFERED, delivered again    STARTED   READ     one offer less; – if it was the only one
    STARTED    OFFERED, delivered again    STARTED   READ     STARTED
    READ       READ, not delivered         READ      READ     READ

OFFER is recorded before the prompt goes to the core, START when the core has confirmed the turn, FINISH when the inbox
says that the message is read. WITHDRAW: the core has refused the prompt, so it was not delivered. After a crash a
message that is OFFERED or STARTED may have been delivered: it is delivered again, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct


class Stage(StrEnum):
    OFFERED = "offered"
    STARTED = "started"
    READ = "read"


STEERED: Final = "steered"
"""Beside the stages: it was added to a running turn."""


class MailStep(StrEnum):
    OFFER = "offer"
    START = "start"
    FINISH = "finish"
    WITHDRAW = "withdraw"


class MailProgress(Struct, frozen=True):
    """One message. `offers` counts those of which we do not know that they failed."""

    stage: Stage
    offers: int


class MailDelivery(Struct, frozen=True):
    progress: MailProgress
    times: Mapping[str, float]
    """When it came to each stage last, or was `STEERED`; not known of mail of earlier versions."""


NEW: Final = None


def after(progress: MailProgress | None, step: MailStep) -> MailProgress | None:
    """What is recorded after a step; None is no record."""
    offers = progress.offers if progress else 0
    stage = progress.stage if progress else None
    if stage is Stage.READ:
        return progress
    match step:
        case MailStep.OFFER:
            return MailProgress(Stage.OFFERED, offers + 1)
        case MailStep.START:
            return MailProgress(Stage.STARTED, max(offers, 1))
        case MailStep.FINISH:
            return MailProgress(Stage.READ, offers)
    if stage is Stage.OFFERED:
        return MailProgress(Stage.OFFERED, offers - 1) if offers > 1 else NEW
    return progress


def is_deliverable(progress: MailProgress | None) -> bool:
    return progress is None or progress.stage is not Stage.READ


def is_redelivery(progress: MailProgress | None) -> bool:
    """Whether an offer now would be another one, judged by the record before it."""
    return progress is not None and progress.offers > 0 and is_deliverable(progress)
