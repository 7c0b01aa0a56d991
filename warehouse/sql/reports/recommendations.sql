-- grain: advice, or reason why a kind of advice is not given, or combined saving, of the newest run (every run: runs=all)
-- inputs: recommendations
-- law: savings are of a month of 730 hours at the price of the ledger or of the price book; replayed ones are what the
--      same recording would have cost less, ranges (is_replayed false) rest on their assumption and are in no sum; the
--      row `combined` is replayed with all replayed advice at once and never above its cost_usd_month. evidence_report
--      with evidence_params opens the rows. followed_at is null where nobody followed it
-- params: runs=newest, kind, verdict
with
runs_made as (
    select run_id, max(made_ns) as made_ns
    from recommendations
    where verdict <> 'followed'
    group by run_id
),

newest as (
    select arg_max(run_id, (made_ns, run_id)) as run_id
    from runs_made
    where made_ns >= $since_ns and made_ns < $until_ns
),

followed as (
    select advice_id, max(made_ns) as followed_ns
    from recommendations
    where verdict = 'followed'
    group by advice_id
)

select
    r.advice_id,
    r.verdict,
    r.kind,
    r.target,
    r.deployment,
    r.agent,
    r.sentence,
    r.saving_usd_month,
    r.saving_low_usd_month,
    r.saving_high_usd_month,
    r.cost_usd_month,
    r.is_replayed,
    r.assumption,
    r.added_wait_s_p50,
    r.added_wait_s_p95,
    r.added_wait_s_p99,
    r.slo_ratio,
    r.confidence,
    r.signal,
    r.coverage_ratio,
    r.calibration_error_ratio,
    r.evidence_report,
    r.evidence_params,
    r.evidence_rows,
    r.change,
    r.manifest,
    r.price_source,
    r.provenance,
    make_timestamp(r.from_ns // 1000) as from_at,
    make_timestamp(r.until_ns // 1000) as until_at,
    make_timestamp(r.made_ns // 1000) as made_at,
    make_timestamp(f.followed_ns // 1000) as followed_at,
    r.run_id,
    r.simulated
from recommendations as r
left join followed as f on r.advice_id = f.advice_id
where
    r.verdict <> 'followed'
    and r.made_ns >= $since_ns
    and r.made_ns < $until_ns
    and ($runs = 'all' or r.run_id = (select n.run_id from newest as n))
    and ($kind is null or r.kind = $kind)
    and ($verdict is null or r.verdict = $verdict)
order by
    r.made_ns desc,
    r.verdict <> 'combined',
    r.verdict <> 'advice',
    coalesce(r.saving_usd_month, r.saving_low_usd_month) desc nulls last,
    r.kind,
    r.target,
    r.advice_id
