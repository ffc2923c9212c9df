"""The hostile day, phase by phase: what the origins do, and what a relay may do meanwhile."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from enum import Enum
from functools import partial

import origin
from console import Console
from origin import Behaviour, Origin, answer

FORBIDDEN = {"error": "TENANT_FORBIDDEN", "safeMessage": "tenant is not allowed for this token"}
MISMATCH = {"error": "TENANT_MISMATCH", "safeMessage": "record tenant does not match the authenticated principal"}
UNAUTHORIZED = {"error": "UNAUTHORIZED", "safeMessage": "authorization token is invalid"}
PORTAL = b"<!doctype html><title>Sign in</title><p>Welcome to the airport.</p>"


class Kind(Enum):
    """What records meet in a phase."""

    PASS = "are taken"
    FAIL = "wait, and the origin is left alone"
    WAIT = "wait for another token"
    REJECT = "are rejected"


@dataclass
class Cast:
    """Who takes part: the Console, each tenant's origin, and an origin that nobody has any business with."""

    console: Console
    origins: list[Origin]
    trap: Origin


# Makes the origins what the phase says, for as long as the context lasts.
Stage = Callable[[Cast], Iterator[None]]


@dataclass
class Phase:
    name: str
    kind: Kind
    stage: Stage
    # The pause that the answers ask for, in seconds.
    asks: float = 0


@contextmanager
def answering(behaviour: Behaviour, cast: Cast) -> Iterator[None]:
    for each in cast.origins:
        each.behave(behaviour)
    yield


@contextmanager
def without_listener(method: Callable[[Origin], None], cast: Cast) -> Iterator[None]:
    for each in cast.origins:
        method(each)
    yield
    for each in cast.origins:
        each.listen()


@contextmanager
def redirecting(cast: Cast) -> Iterator[None]:
    statuses = [301, 302, 303, 307, 308]

    def behave(connection, request) -> bool:
        statuses.append(statuses.pop(0))
        return origin.send(connection, request, statuses[-1], b"", {"location": f"{cast.trap.url}/records"})

    with answering(behave, cast):
        yield


@contextmanager
def as_it_is(cast: Cast) -> Iterator[None]:
    yield


@contextmanager
def console_dead(cast: Cast) -> Iterator[None]:
    cast.console.kill()
    yield
    cast.console.start()


@contextmanager
def database_dead(cast: Cast) -> Iterator[None]:
    cast.console.kill_database()
    yield
    cast.console.revive_database()


def busy(retry_after: Callable[[], str]) -> Stage:
    return partial(answering, answer(429, {"error": "BUSY"}, lambda: {"retry-after": retry_after()}))


def steady(status: int, body: object = b"") -> Stage:
    return partial(answering, answer(status, body))


def phases() -> list[Phase]:
    """The whole day."""
    fail, wait, reject = Kind.FAIL, Kind.WAIT, Kind.REJECT
    return [
        Phase("the Console", Kind.PASS, as_it_is),
        Phase("connection refused", fail, partial(without_listener, Origin.refuse)),
        Phase("blackhole", fail, partial(without_listener, Origin.swallow)),
        Phase("silence", fail, partial(answering, origin.silence)),
        Phase("one byte a second", fail, partial(answering, origin.drip)),
        Phase("reset after the headers", fail, partial(answering, origin.reset_after_headers)),
        Phase("redirect elsewhere", fail, redirecting),
        Phase("401", wait, steady(401, UNAUTHORIZED)),
        Phase("403 for the token", wait, steady(403, FORBIDDEN)),
        Phase("403 for the record", reject, steady(403, MISMATCH)),
        Phase("413", reject, steady(413, {"error": "BODY_TOO_LARGE"})),
        Phase("429, Retry-After: 3", fail, busy(lambda: "3"), asks=3),
        # A date has no fractions: the second that is begun is lost.
        Phase("429, Retry-After: a date", fail, busy(lambda: formatdate(time.time() + 4, usegmt=True)), asks=3),
        Phase("429, Retry-After: a past date", fail, busy(lambda: "Sun, 06 Nov 1994 08:49:37 GMT")),
        Phase("429, Retry-After: -1", fail, busy(lambda: "-1")),
        Phase("429, Retry-After: 1e9", fail, busy(lambda: "1e9")),
        Phase("429, Retry-After: soon", fail, busy(lambda: "soon")),
        Phase("500 for ever", fail, steady(500, {"error": "INTERNAL"})),
        Phase("200 with HTML", fail, steady(200, PORTAL)),
        Phase("the Console killed", fail, console_dead),
        Phase("the Console's database killed", fail, database_dead),
        Phase("poison among good records", Kind.PASS, as_it_is),
        # It asks for more than is granted: an hour is the most.
        Phase("429, Retry-After: 1000000000", fail, busy(lambda: "1000000000"), asks=3600),
        # What a hook could not queue, because others held the outbox, comes with the next.
        Phase("the Console again", Kind.PASS, as_it_is),
    ]
