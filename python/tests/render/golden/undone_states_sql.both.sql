select
    commit_id,
    relation,
    entity,
    kind,
    business_date,
    if(commit_id in (7, 8), 'rolled_back', 'completed') as state,
    started_at,
    completed_at,
    rows_read,
    rows_inserted,
    rows_updated,
    rows_deleted,
    rows_unchanged,
    rows_not_supplied,
    rows_rejected,
    rows_duplicate,
    rows_natural_in_batch,
    rows_natural_cross_batch,
    rows_synthetic_in_batch,
    rows_synthetic_cross_batch,
    etl_tstamp,
    rows_ignored,
    rows_tied,
    rows_logged,
    rows_superseded,
    batch_id,
    first_sequence_num,
    last_sequence_num,
    last_file,
    log_version_before,
    log_version_after,
    current_version_before,
    current_version_after,
    source_relation,
    source_commit_id,
    is_correction,
    if(commit_id in (7, 8), 260304093000123, null) as undone_by,
    config_fingerprint,
    config,
    invocation_id,
    details,
    rules,
    greatest(current_timestamp(), state_at + interval 1 microsecond) as state_at
from (
    select *
    from (
        select
            *,
            row_number() over (
                partition by relation, commit_id
                order by state_at desc nulls last, state = 'inflight' asc nulls last
            ) as _tidemark_rank
        from shop.tidemark_commits
        where relation = 'shop.customers'
    )
    where _tidemark_rank = 1
)
where commit_id in (7, 8, 5)
