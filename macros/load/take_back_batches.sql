{#- Do a rollback that is recorded; doing it twice changes nothing, so one that died is finished this way. -#}
{%- macro take_back_batches(cfg, relations, commits, record) -%}
    {%- set ids = tidemark.query_rows(tidemark.batches_after_sql(commits['states'], cfg['relation'], record['source_commit_id'])) | map(attribute='commit_id') | list -%}
    {%- if ids -%}
        {%- for name in ['current', 'entities', 'rejects', 'landed', 'manifest'] if tidemark.relation_exists(relations[name]) -%}
            {%- do run_query('delete from ' ~ relations[name] ~ ' where _commit_id in (' ~ ids | join(', ') ~ ')') -%}
        {%- endfor -%}
        {%- do run_query(tidemark.undo_states_sql(commits['states'], record, ids, [])) -%}
    {%- endif -%}
    {%- do tidemark.record_commit(commits, record, 'completed', {}) -%}
{%- endmacro -%}
