{#- rollback() of a `materialized: atomic` model: the batches after a commit are taken back. Their events, entities, claims and rejects
    go, and their files count as not read: the next run takes them again, unless they are moved away first. So there is no way forth to a
    batch that was taken back. -#}
{%- macro rollback_batches(node, to, dry_run) -%}
    {%- set opened = tidemark.open_atomic(node, dry_run) -%}
    {%- set cfg, commits, state, entity = opened['cfg'], opened['commits'], opened['state'], opened['cfg']['entity'] -%}
    {%- if not state['recorded'] -%}
        {%- do tidemark.raise_error('data', entity ~ ': nothing was loaded yet, so there is nothing to roll back') -%}
    {%- endif -%}
    {%- if to is none -%}
        {%- do tidemark.raise_error('usage', entity ~ ': to where? Give `to`, a commit id, a business date or a timestamp; `dbt run-operation show_commits` lists the commits') -%}
    {%- endif -%}
    {%- set target = tidemark.span_of(cfg, commits, {'from': to, 'argument': 'to'}, 'rollback')['from'] | int -%}
    {%- set gone = tidemark.query_rows(tidemark.batches_gone_sql(commits['states'], cfg['relation'], target)) -%}
    {%- if gone -%}
        {%- do tidemark.raise_error('usage',
            entity ~ ': commit ' ~ gone[0]['commit_id'] ~ ', of which events were there at commit ' ~ target ~ ', was taken back by commit ' ~ gone[0]['undone_by']
            ~ ': they are gone. The next run reads their files again, if they still lie there'
        ) -%}
    {%- endif -%}
    {%- set batches = tidemark.query_rows(tidemark.batches_after_sql(commits['states'], cfg['relation'], target)) -%}
    {%- if not batches -%}
        {%- do tidemark.say(entity, 'is at commit ' ~ target ~ ' already, nothing to roll back') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- for batch in batches -%}
        {%- do tidemark.say(entity, ('would take' if dry_run else 'taking') ~ ' back commit ' ~ batch['commit_id'] ~ ': ' ~ batch['rows_inserted'] ~ ' events') -%}
        {%- if batch['kind'] == 'full_refresh' -%}
            {%- do tidemark.raise_error('data', entity ~ ': commit ' ~ batch['commit_id'] ~ ' read everything anew; what was before it is in the tables named ..._<commit>') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if dry_run -%}{{ return(none) }}{%- endif -%}
    {%- set record = tidemark.operation_commit(opened, 'rollback') -%}
    {%- do record.update({'source_commit_id': target}) -%}
    {%- do tidemark.record_commit(commits, record, 'inflight', {}) -%}
    {%- do tidemark.take_back_batches(opened, record) -%}
    {%- do tidemark.record_commit(commits, record, 'completed', {}) -%}
    {%- do tidemark.say(entity, 'is back at commit ' ~ target ~ ', by commit ' ~ record['commit_id']) -%}
{%- endmacro -%}
