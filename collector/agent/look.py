"""The part of a look that the driver's thread does: ask what is due, and say what came, judging nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from collector.agent.binding import DriverError
from collector.agent.cards import KnownCard
from collector.agent.fields import Field, Look, Point
from collector.agent.reactions import reaction

_GOES_ON = {"unknown", "later"}


class Answer(NamedTuple):
    """What one question brought: points, or the error that the driver answered."""

    field: Field
    points: list[Point]
    error: DriverError | None


def read(fields: Sequence[Field], look: Look) -> list[Answer]:
    """Ask field by field; an error that concerns more than its own field ends the look."""
    answers = []
    for field in fields:
        try:
            answers.append(Answer(field, list(field.read(look)), None))
        except DriverError as error:
            answers.append(Answer(field, [], error))
            if reaction(error.code).kind not in _GOES_ON:
                break
    return answers


def is_due(field: Field, known: KnownCard, now_ns: int, *, is_slow: bool) -> bool:
    """Tell whether this is the tick at which a card is asked this."""
    if field.of != "both" and (field.of == "slice") != (known.card.parent_uuid is not None):
        return False
    pause = known.pauses.get(field.name)
    if pause and now_ns < pause.until_ns:
        return False
    if field.rate == "once":
        return not known.told_facts or pause is not None
    return field.rate == "each" or is_slow
