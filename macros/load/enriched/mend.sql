{#- What finishes or takes back a batch that a dead run left; the other steps are those of mend_commit(). -#}
{%- macro enriched__shared_log(relations, commit) -%}
    {{ return(relations['current']) }}
{%- endmacro -%}

{#- Claims count at once, entities for whoever reads their table. Events come first: see commit_beside() of the engine in the workers. -#}
{%- macro enriched__fences(file_format, relations, commit_id) -%}
    {%- set statements = [] -%}
    {%- for name in ['current', 'manifest', 'entities', 'rejects'] if tidemark.relation_exists(relations[name]) -%}
        {%- do statements.extend(tidemark.for_format(file_format, 'fence_events')(relations[name], commit_id, name == 'manifest')) -%}
    {%- endfor -%}
    {{ return(statements) }}
{%- endmacro -%}

{%- macro enriched__has_landed(opened, commit, numbers) -%}
    {{ return(commit['kind'] == 'rollback' or tidemark.has_batch(opened['relations']['current'], commit['commit_id'])) }}
{%- endmacro -%}

{%- macro enriched__finish(opened, state, commit) -%}
    {%- if commit['kind'] == 'rollback' -%}
        {%- do tidemark.take_back_batches(opened, commit) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro enriched__discard(opened, commit) -%}
    {%- set relations = opened['relations'] -%}
    {%- for name in ['manifest', 'entities', 'rejects', 'landed'] if tidemark.has_batch(relations[name], commit['commit_id']) -%}
        {%- do run_query('delete from ' ~ relations[name] ~ ' where _commit_id = ' ~ commit['commit_id']) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Whether a table has rows of a commit. -#}
{%- macro has_batch(relation, commit_id) -%}
    {{ return(tidemark.relation_exists(relation) and tidemark.has_rows(relation, '_commit_id = ' ~ commit_id)) }}
{%- endmacro -%}

{#- Do a rollback that is recorded; doing it twice changes nothing, so one that died is finished this way. -#}
{%- macro take_back_batches(opened, record) -%}
    {%- set cfg, relations, commits = opened['cfg'], opened['relations'], opened['commits'] -%}
    {%- set ids = tidemark.query_rows(tidemark.batches_after_sql(commits['states'], cfg['relation'], record['source_commit_id'])) | map(attribute='commit_id') | list -%}
    {%- if ids -%}
        {%- do tidemark.take_back_populated(opened, ids) -%}
        {%- for name in ['current', 'entities', 'rejects', 'landed', 'manifest'] if tidemark.relation_exists(relations[name]) -%}
            {%- do run_query('delete from ' ~ relations[name] ~ ' where _commit_id in (' ~ ids | join(', ') ~ ')') -%}
        {%- endfor -%}
        {%- do tidemark.record_undone(cfg, commits, record, ids, []) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Claims that populate_manifest made for events of batches which are taken back, unless a batch that stays has them too: they are of no
    batch, and what their files bring again would be copies of events that are nowhere. Before the events go, by which they are found. -#}
{%- macro take_back_populated(opened, ids) -%}
    {%- set relations, commits = opened['relations'], opened['commits'] -%}
    {%- if not tidemark.relation_exists(relations['manifest']) -%}{{ return(none) }}{%- endif -%}
    {%- set populated = tidemark.query_rows(tidemark.populations_sql(
        commits['states'], opened['cfg']['relation'], relations['current']
    )) | map(attribute='commit_id') | list -%}
    {%- if populated -%}
        {%- do run_query(tidemark.delete_rows_sql(
            relations['manifest'], tidemark.populated_claims_sql(relations['current'], ids, populated), ['event_id', 'fingerprint', '_commit_id']
        )) -%}
    {%- endif -%}
{%- endmacro -%}
