-- One row per span that could be a step (llm, tool, retrieval, embedding and their attempts); `counted` says
-- whether it is one, `why` why not. A step is a counted row. Token columns of a counted call are already filled
-- from its inner views. Cost columns are null where unknown, never 0.
create table steps (
    task_id varchar not null,
    step_id varchar not null, -- trace id, span id and start: unique
    trace_id varchar not null,
    span_id varchar not null,
    parent_step_id varchar,
    call_id varchar, -- step id of the call's first attempt: attempts of one call share it
    start_ns bigint not null,
    end_ns bigint not null,
    busy_start_ns bigint, -- when it occupied its deployment: the engine's own interval, else the client's
    busy_end_ns bigint, --   less its known queue time; null unless it is a counted llm or embedding step
    kind varchar not null, -- llm tool retrieval embedding
    name varchar,
    tool_name varchar,
    agent varchar,
    thread varchar,
    round integer,
    provider varchar,
    model varchar, -- as answered, else as asked
    service_tier varchar, -- batch, flex, priority ...: sold at another price; null is the ordinary one
    deployment varchar,
    replica varchar,
    paid_by varchar, -- tokens, gpu or nothing (tools, cached answers)
    status varchar not null,
    error_type varchar,
    attempt integer not null, -- number of this try, from 1
    attempts integer not null, -- tries this row stands for, 1 unless tries are hidden inside it
    counted boolean not null,
    why varchar,
    is_leaf boolean not null, -- no counted step below it: only leaves are in flight
    waits_for_person boolean not null,
    bucket varchar, -- retried or loop where the whole step goes there, else null
    input_tokens bigint,
    input_tokens_high bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    cache_write_1h_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    tool_schema_tokens bigint,
    resent_tokens bigint,
    token_provenance varchar not null, -- reported estimated unknown simulated
    ttft_ns bigint,
    queue_ns bigint,
    work_ns bigint, -- of a tool: its own work, waits for a person taken off
    finish_reason varchar,
    asked_tool boolean,
    args_hash varchar,
    payload_bytes bigint, -- of a tool: arguments and result
    args_shape_hash varchar,
    result_hash varchar,
    token_cost_usd decimal(38, 12),
    token_cost_low_usd decimal(38, 12),
    token_cost_high_usd decimal(38, 12),
    reported_cost_usd decimal(38, 12),
    price_source varchar,
    price_known_ns bigint, -- the edition of the price book that priced it, null unless it is priced by tokens
    price_id varchar, -- row of token_prices that priced the declared reading
    is_untimed boolean, -- only its end is known: it has no length, which is not a length of 0
    simulated boolean not null
)
