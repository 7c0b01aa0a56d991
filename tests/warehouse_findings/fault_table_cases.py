"""The cases of the table of fixtures with numbers: what is sent, by the name of its row."""

import itertools
from collections.abc import Mapping

from findings_bench import (
    COST,
    GPT,
    IN,
    OUT,
    READ,
    TOTAL,
    WRITE,
    Case,
    agent,
    case,
    chat,
    tool,
)

IST_2330_S = 77_600  # 23:30 in India on the day after START_NS
NOON_S = 56_000  # noon UTC of that day
DAY_S = 86_400
ANTHROPIC_READ = "gen_ai.usage.cache_read_input_tokens"
CACHED = {READ: 128_955, WRITE: 1_253, OUT: 100}
OPEN_INFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "claude-sonnet-4-5",
    "llm.provider": "anthropic",
}
NAMES = (
    "claude-sonnet-4-5",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-5@20250929",
    "claude-sonnet-4-5[1m]",
    "anthropic/claude-sonnet-4-5",
    "Claude-Sonnet-4-5",
    "claude-sonnet-4-5:thinking",
)
AWS_NAMES = (
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
)
TYPES = ("1200", 1200.0, True, "abc", -500, float("nan"), 1e19)
TWO_CALLS = (chat(2, 1, {IN: 56, OUT: 5}), chat(3, 3, {IN: 57, OUT: 6}))
SUM = {IN: 113, OUT: 11}
ROLL_UP = (agent(1, 0, SUM), *TWO_CALLS)
ORDERS = list(itertools.permutations(range(3)))
ORPHAN = chat(2, 1, {IN: 56, OUT: 5})
REPLAYED = (agent(), chat(2, 1, {IN: 10, OUT: 1, "gen_ai.response.id": "answer-7"}))
SIZES = (199_999, 200_000, 200_001)
BEDROCK = {"gen_ai.provider.name": "aws.bedrock"}
QUESTION = {"gen_ai.input.messages": '[{"role":"user","content":"hi"}]'}
PLACE = "gen_ai.operation.name"


def house(at_s: float) -> Case:
    """A call of a model that only the user's own file prices."""
    return case(chat(1, at_s, {"gen_ai.request.model": "house", IN: 1_000_000, OUT: 0}, parent=None))


CASES: Mapping[str, Case] = {
    "inclusive cache": case(chat(1, 1, {IN: 130_213, **CACHED}, parent=None)),
    "exclusive, evident": case(chat(1, 1, {IN: 5, **CACHED}, parent=None)),
    "exclusive, ambiguous": case(chat(1, 1, {IN: 5_000, ANTHROPIC_READ: 3_000, OUT: 100}, parent=None)),
    "roll-up 1 level": case(*ROLL_UP),
    "roll-up 3x": case(
        agent(8, 0, {**SUM, PLACE: "invoke_workflow"}),
        agent(1, 0.1, SUM, parent=8, took_s=50),
        *TWO_CALLS,
    ),
    "roll-up that does not match": case(
        agent(1, 0, {IN: 200, OUT: 20}), chat(2, 1, SUM)
    ),
    **{
        f"order {order}": Case(tuple((ROLL_UP[place],) for place in order), {}) for order in ORDERS
    },
    "twin": case(
        chat(1, 0, {**GPT, IN: 1_000, OUT: 100}, parent=None, took_s=3),
        chat(2, 0.1, {**GPT, IN: 1_000, OUT: 100}, took_s=2),
    ),
    "twin with detail": case(
        chat(1, 0, {**GPT, IN: 1_000, OUT: 100}, parent=None, took_s=3),
        chat(2, 0.1, {**GPT, IN: 1_000, OUT: 100, READ: 400}, took_s=2),
    ),
    "stream told thrice": Case(
        tuple((chat(1, 0, {IN: 100, OUT: out}, parent=None, took_s=out),) for out in (5, 12, 30)), {}
    ),
    "chunks below a call": case(
        chat(1, 0, {"gen_ai.response.id": "r"}, parent=None, took_s=9),
        *(
            chat(place, place, {IN: 100, OUT: out, "gen_ai.response.id": "r"})
            for place, out in ((2, 5), (4, 12), (6, 30))
        ),
    ),
    "total gap": case(
        chat(
            1, 0,
            {
                **OPEN_INFERENCE,
                "llm.token_count.prompt": 3,
                "llm.token_count.completion": 442,
                "llm.token_count.total": 8_712,
                "llm.token_count.prompt_details.cache_read": 7_917,
                "llm.token_count.prompt_details.cache_write": 350,
            },
            parent=None,
        )
    ),
    "hidden tokens": case(chat(1, 0, {IN: 3, OUT: 9, TOTAL: 114, COST: 0.000837}, parent=None)),
    "types": case(
        agent(), *(chat(place, place, {IN: value, OUT: 1}) for place, value in enumerate(TYPES, 2))
    ),
    "tiers": case(
        agent(),
        *(chat(place, place, {IN: size, OUT: 0}) for place, size in enumerate(SIZES, 2)),
        chat(9, 9, {IN: 300_000, READ: 300_000, OUT: 0}),
    ),
    "names": case(
        agent(),
        *(
            chat(place, place, {"gen_ai.request.model": name, IN: 1_000, OUT: 0})
            for place, name in enumerate(NAMES, 2)
        ),
        chat(20, 20, {"gen_ai.request.model": "mystery-9b", IN: 777, OUT: 0}),
    ),
    "names of a cloud": case(
        agent(),
        *(
            chat(place, place, {**BEDROCK, "gen_ai.request.model": name, IN: 9, OUT: 0})
            for place, name in enumerate(AWS_NAMES, 2)
        ),
    ),
    "house at 11:59": house(NOON_S - 60),
    "house at 12:01": house(NOON_S + 60),
    "retry group": case(
        agent(),
        *(
            chat(place, place, {"error.type": "429", **QUESTION}, status="error")
            for place in (2, 4)
        ),
        chat(6, 6, {IN: 10, OUT: 1, **QUESTION}),
    ),
    "orphan, parent at once": case(agent(), ORPHAN),
    "orphan, parent late": Case(((ORPHAN,), (agent(),)), {}),
    "orphan, parent never": case(ORPHAN),
    "replayed": Case((REPLAYED, REPLAYED), {}),
    "sent again with new ids": case(
        agent(11), chat(12, 1, {IN: 10, OUT: 1, "gen_ai.response.id": "answer-7"}, parent=11)
    ),
    "skew": case(agent(), chat(2, -2, {IN: 56, OUT: 5}), chat(3, 5, {IN: 57, OUT: 6}, took_s=-1)),
    "late evenings": case(
        agent(1, IST_2330_S, took_s=5 * DAY_S),
        *(chat(2 + day, IST_2330_S + day * DAY_S, {IN: 1_000, OUT: 0}) for day in range(5)),
    ),
    "identical": case(
        agent(),
        *(chat(2 + 2 * n, 2 + 2 * n, {IN: 100, OUT: 10}) for n in range(3)),
        *(tool(3 + 2 * n, 3 + 2 * n, "look", '{"q": 1}', took_s=0.5) for n in range(3)),
    ),
    "cycle": case(
        agent(),
        *(tool(3 + n, 3 + n, name, '{"q": 1}', took_s=0.5) for n, name in enumerate("abab")),
    ),
    "near-duplicate": case(
        agent(),
        *(
            tool(3 + n, 3 + n, "poll", f'{{"at": "2026-05-28T10:00:0{n}Z"}}', f"state {n}", took_s=0.5)
            for n in range(3)
        ),
    ),
}  # fmt: skip
