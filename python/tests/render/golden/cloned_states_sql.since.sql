select
    commit_id,
    'dev.customers' as relation,
    entity,
    kind,
    business_date,
    state,
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
    if(
        startswith(source_relation, 'shop.')
            or startswith(source_relation, 'shop_'),
        concat('dev', substring(source_relation, 5)),
        source_relation
    ) as source_relation,
    source_commit_id,
    is_correction,
    undone_by,
    config_fingerprint,
    config,
    invocation_id,
    details,
    rules,
    state_at
from shop.tidemark_commits
where
    relation = 'shop.customers'
    and state <> 'inflight'
    and kind <> 'clone'
    and state_at > (select max(marks.state_at) from shop.tidemark_commits as marks
        where marks.relation = 'shop.customers' and marks.commit_id = 260304093000123)
