-- grain: line of an imported bill
-- inputs: bills, gpus, gpu_ledger, steps
-- law: explained + unexplained = billed, line by line; nothing is forced to fit. A line is explained by the cards whose SKU
--      or deployment its texts name, else by the calls of the provider it names (and of the model, where it names one),
--      in its own period; lines that are explained by the same share it in proportion to what they bill (in millionths
--      of a USD; what is rounded goes to the later line). A line that names neither is wholly unexplained, and says so. Of several files for one account and
--      billing period the newest counts
with
newest as (
    select account, provider, period_ns, arg_max(journal, (received_ns, journal)) as journal
    from bills
    where period_ns is not null
    group by account, provider, period_ns
),

lines as (
    select
        b.*,
        row_number() over (order by b.from_ns, b.file, b.line) as number,
        regexp_replace(
            lower(concat_ws(' ', b.service, b.sku, b.resource, b.description)), '[^a-z0-9]', '', 'g'
        ) as words,
        regexp_replace(lower(concat_ws(' ', b.provider, b.service)), '[^a-z0-9]', '', 'g') as seller
    from bills as b
    left join newest as n
        on
            b.account is not distinct from n.account
            and b.provider is not distinct from n.provider
            and b.period_ns = n.period_ns
    where
        (b.period_ns is null or b.journal = n.journal)
        and b.from_ns < $until_ns
        and b.to_ns > $since_ns
),

cards as (
    select
        gpu_id,
        regexp_replace(lower(sku), '[^a-z0-9]', '', 'g') as sku,
        regexp_replace(lower(deployment), '[^a-z0-9]', '', 'g') as deployment
    from gpus
),

-- Of several names in one line the longest is meant: an H100 SXM is no H100.
card_names as (
    select l.number, arg_max(c.name, len(c.name)) as name
    from lines as l
    inner join (
        select sku as name from cards
        union
        select deployment from cards
    ) as c on len(c.name) > 1 and contains(l.words, c.name)
    group by l.number
),

callers as (
    select distinct
        coalesce(provider, '') as provider,
        coalesce(model, '') as model,
        regexp_replace(lower(provider), '[^a-z0-9]', '', 'g') as seller,
        regexp_replace(lower(model), '[^a-z0-9]', '', 'g') as name
    from steps
    where counted and paid_by = 'tokens'
),

call_names as (
    select
        l.number,
        arg_max(c.provider, len(c.seller)) as provider,
        arg_max(c.model, len(c.name)) filter (where len(c.name) > 2 and contains(l.words, c.name)) as model
    from lines as l
    inner join callers as c on len(c.seller) > 1 and contains(l.seller, c.seller)
    where l.number not in (select k.number from card_names as k)
    group by l.number
),

keyed as (
    select
        l.*,
        case when k.number is not null then 'gpus' when t.number is not null then 'calls' end as explained_by,
        coalesce(k.name, t.provider) as key,
        t.model
    from lines as l
    left join card_names as k on l.number = k.number
    left join call_names as t on l.number = t.number
),

wholes as (
    select
        explained_by,
        key,
        model,
        from_ns,
        to_ns,
        sum(greatest(billed_usd, 0)) as billed_usd
    from keyed
    where explained_by is not null
    group by explained_by, key, model, from_ns, to_ns
),

known as (
    select w.explained_by, w.key, w.model, w.from_ns, w.to_ns, sum(g.cost_usd)::decimal(38, 12) as known_usd
    from wholes as w
    inner join cards as c on w.key in (c.sku, c.deployment)
    inner join gpu_ledger as g
        on c.gpu_id = g.gpu_id and g.quarter_ns >= w.from_ns and g.quarter_ns < w.to_ns
    where w.explained_by = 'gpus'
    group by w.explained_by, w.key, w.model, w.from_ns, w.to_ns
    union all
    select w.explained_by, w.key, w.model, w.from_ns, w.to_ns, sum(s.token_cost_usd)::decimal(38, 12)
    from wholes as w
    inner join steps as s
        on
            coalesce(s.provider, '') = w.key
            and s.start_ns >= w.from_ns
            and s.start_ns < w.to_ns
            and (w.model is null or s.model = w.model)
    where w.explained_by = 'calls' and s.counted and s.paid_by = 'tokens'
    group by w.explained_by, w.key, w.model, w.from_ns, w.to_ns
),

-- Shares as running parts of the whole: they add up to it whatever is rounded.
running as (
    select
        k.*,
        n.known_usd,
        w.billed_usd as whole_usd,
        sum(greatest(k.billed_usd, 0)) over same as up_to_usd,
        sum(greatest(k.billed_usd, 0)) over same - greatest(k.billed_usd, 0) as before_usd
    from keyed as k
    left join wholes as w
        on
            k.explained_by = w.explained_by
            and k.key = w.key
            and k.model is not distinct from w.model
            and k.from_ns = w.from_ns
            and k.to_ns = w.to_ns
    left join known as n
        on
            k.explained_by = n.explained_by
            and k.key = n.key
            and k.model is not distinct from n.model
            and k.from_ns = n.from_ns
            and k.to_ns = n.to_ns
    window same as (
        partition by k.explained_by, k.key, k.model, k.from_ns, k.to_ns order by k.number rows unbounded preceding
    )
),

shared as (
    select
        *,
        case
            when explained_by is null then 0
            when known_usd is null then null
            when whole_usd = 0 then 0
            else
                (known_units * (up_to_usd * 1000000)::hugeint // (whole_usd * 1000000)::hugeint)::decimal(26, 0)
                * 0.000000000001::decimal(12, 12)
                - (known_units * (before_usd * 1000000)::hugeint // (whole_usd * 1000000)::hugeint)::decimal(26, 0)
                * 0.000000000001::decimal(12, 12)
        end::decimal(38, 12) as explained_usd
    from (select *, (known_usd * 1000000000000)::hugeint as known_units from running)
)

select
    file,
    line,
    provider,
    service,
    sku,
    resource,
    region,
    description,
    category,
    make_timestamp(from_ns // 1000) as from_at,
    make_timestamp(to_ns // 1000) as until_at,
    billed_usd,
    explained_usd,
    (billed_usd - explained_usd)::decimal(38, 12) as unexplained_usd,
    explained_by,
    case
        when explained_by is null then 'its texts name no card, deployment or provider that is known here'
        when explained_usd is null then 'nothing with a known cost happened in its period'
    end as why_not
from shared
order by from_at, file, line
