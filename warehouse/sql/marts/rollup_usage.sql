-- grain: one row per span that carries usage and sums up others: an agent, a wrapper, a call above several calls
-- inputs: task_spans, span_tree, call_views, calls, spans
-- law: Its usage is read only if nothing below it has usage that is read; then it is the only
--      source, and the number of calls is unknown unless calls without usage stand below it. A cumulative figure
--      counts by its difference to the agent's figure before, in the task, else in an earlier task of its session. excess_tokens is what a declared sum says beyond its
--      parts; above is the nearest such span above
create or replace temp table rollup_usage as
with recursive
sessions_before as (
    select
        c.node,
        arg_max(struct_pack(
            input_tokens := p.input_tokens,
            output_tokens := p.output_tokens,
            cache_read_tokens := p.cache_read_tokens,
            cache_write_tokens := p.cache_write_tokens,
            cache_write_1h_tokens := p.cache_write_1h_tokens,
            reasoning_tokens := p.reasoning_tokens
        ), (p.end_ns, p.start_ns, p.filled, p.row_hash)) as earlier
    from task_spans as c
    inner join spans as p
        on
            p.session_id = c.session_id
            and p.tenant is not distinct from c.tenant
            and p.rollup = 'cumulative'
            and coalesce(p.agent_id, p.agent_name) = coalesce(c.agent_id, c.agent_name)
            and p.end_ns <= c.start_ns
            and p.trace_id <> c.trace_id
    where c.rollup = 'cumulative'
    group by c.node
),

sums as (
    select
        s.node,
        s.task_id,
        t.usage,
        t.height,
        coalesce(s.rollup, 'sum') as means,
        s.rollup = 'sum' as is_declared_sum,
        s.input_tokens,
        s.output_tokens,
        s.cache_read_tokens,
        s.cache_write_tokens,
        s.cache_write_1h_tokens,
        s.reasoning_tokens,
        coalesce(
            lag(struct_pack(
                input_tokens := s.input_tokens,
                output_tokens := s.output_tokens,
                cache_read_tokens := s.cache_read_tokens,
                cache_write_tokens := s.cache_write_tokens,
                cache_write_1h_tokens := s.cache_write_1h_tokens,
                reasoning_tokens := s.reasoning_tokens
            )) over (
                partition by s.task_id, s.rollup, coalesce(s.agent_id, s.agent_name, s.step_id)
                order by s.end_ns, s.node
            ),
            b.earlier
        ) as earlier
    from task_spans as s
    inner join span_tree as t on s.node = t.node
    left join call_views as v on s.node = v.node
    left join sessions_before as b on s.node = b.node
    where s.has_usage and (s.role in ('agent', 'wrapper') or v.is_rollup)
),

below (node, above) as (
    select v.node, t.usage
    from call_views as v
    inner join span_tree as t on v.node = t.node
    where v.node = v.call and not v.is_rollup and t.usage is not null
    union all
    select node, usage
    from sums
    where usage is not null
    union all
    select b.node, t.usage
    from below as b
    inner join span_tree as t on b.above = t.node
    where t.usage is not null
),

parts as (
    select
        b.above as node,
        count(*) filter (where c.kind = 'llm') as calls,
        count(*) filter (where c.kind = 'llm' and (c.input_tokens is not null or c.output_tokens is not null)) as known,
        count(*) filter (where s.means <> 'last') as sums,
        sum(coalesce(c.input_tokens, 0) + coalesce(c.output_tokens, 0)) as tokens
    from below as b
    left join calls as c on b.node = c.node
    left join sums as s on b.node = s.node
    group by b.above
),

nearest as (
    select b.node, arg_max(b.above, s.height) as above
    from below as b
    inner join sums as s on b.above = s.node
    where b.node in (select i.node from sums as i)
    group by b.node
),

since as (
    select
        s.*,
        s.means = 'cumulative'
        and s.earlier is not null
        and s.input_tokens >= s.earlier.input_tokens
        and s.output_tokens >= s.earlier.output_tokens as is_difference
    from sums as s
)

select
    s.node,
    s.task_id,
    n.above,
    coalesce(p.calls, 0) as calls,
    coalesce(p.known, 0) = 0
    and coalesce(p.sums, 0) = 0
    and (s.means <> 'last' or coalesce(p.calls, 0) < 2) as counts,
    case
        when s.is_declared_sum and p.known > 0
            then greatest(coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0) - p.tokens, 0)
        else 0
    end as excess_tokens,
    s.input_tokens - case when s.is_difference then s.earlier.input_tokens else 0 end as input_tokens,
    s.output_tokens - case when s.is_difference then s.earlier.output_tokens else 0 end as output_tokens,
    s.cache_read_tokens
    - case when s.is_difference then coalesce(s.earlier.cache_read_tokens, 0) else 0 end as cache_read_tokens,
    s.cache_write_tokens
    - case when s.is_difference then coalesce(s.earlier.cache_write_tokens, 0) else 0 end as cache_write_tokens,
    s.cache_write_1h_tokens
    - case when s.is_difference then coalesce(s.earlier.cache_write_1h_tokens, 0) else 0 end as cache_write_1h_tokens,
    s.reasoning_tokens
    - case when s.is_difference then coalesce(s.earlier.reasoning_tokens, 0) else 0 end as reasoning_tokens
from since as s
left join parts as p on s.node = p.node
left join nearest as n on s.node = n.node
