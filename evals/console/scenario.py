"""What two tenants do, and what it comes to by hand.

The numbers are made up and round; the sums in `EXPECTED` were added up from this page with the list prices below, not
taken from any program's output.

    USD per million tokens   input  output  read   write 5m  write 1h
    claude-sonnet-4-6        3      15      0.30   3.75      6
    claude-opus-4-8          5      25      0.50   6.25      10
    claude-haiku-4-5         1      5       0.10   1.25      2
    one web search           0.01 USD

The Console keeps a running total to four decimals and rounds it after each record. Every run here therefore costs whole
ten-thousandths of a dollar: what it adds up must then be exact.
"""

from dataclasses import dataclass, field
from decimal import Decimal

SONNET, OPUS, HAIKU = "claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5"
# input, output, cache read, cache write 5m, cache write 1h
PRICES = {
    SONNET: (Decimal("3"), Decimal("15"), Decimal("0.30"), Decimal("3.75"), Decimal("6")),
    OPUS: (Decimal("5"), Decimal("25"), Decimal("0.50"), Decimal("6.25"), Decimal("10")),
    HAIKU: (Decimal("1"), Decimal("5"), Decimal("0.10"), Decimal("1.25"), Decimal("2")),
}
WEB_SEARCH = Decimal("0.01")


@dataclass
class Call:
    """One request to a model. Claude Code writes a line for each content block, and the count of output grows."""

    id: str
    model: str
    outputs: list[int]
    input: int = 0
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    searches: int = 0


@dataclass
class Step:
    """What happens in a session up to one of its hooks."""

    session: str
    event: str = "Stop"
    calls: list[Call] = field(default_factory=list)
    subagent_calls: list[Call] = field(default_factory=list)
    # The session that this one was forked from: its lines so far are copied to the top of this one's file.
    forked_from: str | None = None
    # The task as the work goes on: state and critique fields, severities of the findings so far.
    state: dict = field(default_factory=dict)
    critique: dict = field(default_factory=dict)
    findings: list[str] | None = None


@dataclass
class Tenant:
    id: str
    token: str
    task: str
    steps: list[Step]


def late(call: Call, output: int) -> Call:
    """A fuller line of a call, written after the hook that first saw it."""
    return Call(**{**vars(call), "outputs": [output]})


A12 = Call("msg_a12", SONNET, [100], input=200, read=20_000, write_5m=2_000)
A14 = Call("msg_a14", SONNET, [60], input=100, read=24_000)
ACME = Tenant(
    "acme",
    "acme-token-5d0c1f",
    "checkout-rework",
    [
        Step("a1", "SessionStart"),
        Step(
            "a1",
            calls=[Call("msg_a11", SONNET, [2, 2, 400], input=1_000, write_1h=20_000), A12],
            state={"iterations": {"count": 1}, "phase": "execute"},
            critique={"gate_fires": 1},
        ),
        Step("a2", "SessionStart"),
        Step("a2", calls=[Call("msg_a21", SONNET, [8, 900], input=3_000, read=50_000)], findings=["high", "low"]),
        Step(
            "a1",
            calls=[late(A12, 300), Call("msg_a13", SONNET, [1, 1, 700], input=500, read=22_000)],
            subagent_calls=[Call("msg_s1", HAIKU, [5, 600], input=4_000, write_5m=8_000)],
        ),
        Step("a1", "SubagentStop"),
        Step(
            "a2",
            calls=[Call("msg_a22", SONNET, [240], input=100, read=53_000)],
            state={"iterations": {"count": 2, "route_backs": 1}, "human_wait_s": 90, "phase": "verify"},
            critique={"gate_fires": 3},
            findings=["high", "low", "critical, a false completion"],
        ),
        Step("a1", calls=[A14]),
        Step("a2", "SessionEnd"),
        Step("a1", "SessionEnd", calls=[late(A14, 80)]),
    ],
)

B21 = Call("msg_b21", OPUS, [5, 5, 200], input=20, read=6_000)
BIRCH = Tenant(
    "birch",
    "birch-token-91be77",
    "import-dedupe",
    [
        # Its start was never seen: the hooks were installed while it ran.
        Step(
            "b1",
            calls=[Call("msg_b11", OPUS, [1, 1_000], input=2_000, write_5m=4_000)],
            state={"iterations": {"count": 1}, "phase": "execute"},
            findings=["medium"],
        ),
        Step("b2", "SessionStart"),
        Step("b2", calls=[B21], forked_from="b1"),
        Step(
            "b1",
            calls=[Call("msg_b12", OPUS, [300], input=600, read=6_000, searches=2)],
            critique={"gate_fires": 1},
            findings=["medium", "medium", "high"],
        ),
        Step(
            "b2",
            calls=[late(B21, 260), Call("msg_b22", OPUS, [2, 400], input=100, read=8_000)],
            state={"iterations": {"count": 3, "route_backs": 2}},
        ),
        Step("b1", calls=[Call("msg_b13", OPUS, [1, 60], input=20, read=7_000)]),
        Step("b2", "SessionEnd"),
        Step("b1", "SessionEnd"),
    ],
)

TENANTS = [ACME, BIRCH]

# acme, USD:  a11 .129   a12 .0186  a21 .0375  a13 .0186  s1 .017  a22 .0198  a14 .0087
#      runs:  three stops of a1 and its end, which brought a late line; two stops of a2, whose end brought nothing
# birch, USD: b11 .06    b21 .0096  b12 .0335 (of it searches .02)  b22 .0145  b13 .0051
#      runs:  three stops of b1 and two of b2; neither end brought anything
EXPECTED = {
    "acme": {
        "runs": 6,
        "cost_usd": Decimal("0.2492"),
        "input": 8_900,
        "output": 3_220,
        "cache_read": 169_000,
        "cache_write": 30_000,
        "critical": 1,
        "high": 1,
        "medium": 0,
        "low": 1,
        "false_completions": 1,
        "gate_fires": 3,
        "iterations": 2,
        "route_backs": 1,
        "human_wait_s": 90,
    },
    "birch": {
        "runs": 5,
        "cost_usd": Decimal("0.1227"),
        "input": 2_740,
        "output": 2_020,
        "cache_read": 27_000,
        "cache_write": 4_000,
        "critical": 0,
        "high": 1,
        "medium": 2,
        "low": 0,
        "false_completions": 0,
        "gate_fires": 1,
        "iterations": 3,
        "route_backs": 2,
        "human_wait_s": 0,
    },
}
