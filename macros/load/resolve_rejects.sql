{#- Mark the rejects of earlier loads of a date that this one mended. -#}
{%- macro resolve_rejects(cfg, relations, business_date, commit_id) -%}
    {%- set rejects = relations['rejects'] -%}
    {%- set open = tidemark._loads_of_rejects(rejects, tidemark._open_rejects_expr(business_date, commit_id)) -%}
    {%- if open and cfg['file_format'] != 'parquet' -%}
        {%- do run_query(tidemark.resolve_rejects_sql(rejects, business_date, commit_id)) -%}
    {%- elif open -%}
        {%- set mended = tidemark.make_slice(cfg['target'], commit_id, 'mended', tidemark.resolved_rejects_sql(rejects, business_date, commit_id)) -%}
        {%- do tidemark.rewrite_rejects(cfg, rejects, commit_id, open, {
            'mark': 'if(mended._found, ' ~ commit_id ~ ', rejects._resolved_by)',
            'join': ' left join (select *, true as _found from ' ~ mended ~ ') as mended on ' ~ tidemark._open_rejects_expr(business_date, commit_id)
                ~ ' and rejects._reject_reason <=> mended._reject_reason'
                ~ ' and rejects._key_hash <=> mended._key_hash and rejects._raw_payload <=> mended._raw_payload',
        }) -%}
    {%- endif -%}
{%- endmacro -%}

{#- After a rollback: what the loads that it undid had mended is open again, and what those that hold again had is not. -#}
{%- macro reopen_rejects(cfg, relations, commit, steps) -%}
    {%- if cfg['extract'] == 'events' or not tidemark.has_resolved_by(relations['rejects']) -%}{{ return(none) }}{%- endif -%}
    {%- set undone = steps['undone'] | map(attribute='commit_id') | list -%}
    {%- set condition = '_resolved_by in (' ~ undone | join(', ') ~ ')' -%}
    {%- if undone and cfg['file_format'] != 'parquet' -%}
        {%- do run_query('update ' ~ relations['rejects'] ~ ' set _resolved_by = null where ' ~ condition) -%}
    {%- elif undone -%}
        {%- set loads = tidemark._loads_of_rejects(relations['rejects'], condition) -%}
        {%- do tidemark.rewrite_rejects(cfg, relations['rejects'], commit['commit_id'], loads, {
            'mark': 'if(rejects.' ~ condition ~ ', null, rejects._resolved_by)', 'join': '',
        }) -%}
    {%- endif -%}
    {%- for load in steps['redone'] if load['kind'] == 'load' and load['business_date'] -%}
        {%- do tidemark.resolve_rejects(cfg, relations, load['business_date'], load['commit_id']) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Parquet: the rejects of these loads, each a partition, with other marks. -#}
{%- macro rewrite_rejects(cfg, rejects, commit_id, loads, marked) -%}
    {%- set names = tidemark.rejects_columns() | map(attribute='name') | list -%}
    {%- for load in loads -%}
        {%- set rows = tidemark.make_slice(cfg['target'], commit_id, 'marked_' ~ load,
            'select rejects.* except (_resolved_by), cast(' ~ marked['mark'] ~ ' as bigint) as _resolved_by from ' ~ rejects ~ ' as rejects' ~ marked['join']
            ~ ' where rejects.tidemark_commit = ' ~ load
        ) -%}
        {%- do run_query('insert overwrite table ' ~ rejects ~ ' partition (tidemark_commit = ' ~ load ~ ') ('
            ~ names | join(', ') ~ ') select ' ~ names | join(', ') ~ ' from ' ~ rows) -%}
    {%- endfor -%}
    {%- do tidemark.drop_slices(cfg['target']) -%}
{%- endmacro -%}

{%- macro _loads_of_rejects(rejects, condition) -%}
    {{ return(tidemark.first_column('select distinct _commit_id from ' ~ rejects ~ ' as rejects where ' ~ condition)) }}
{%- endmacro -%}

{%- macro has_resolved_by(rejects) -%}
    {{ return(tidemark.relation_exists(rejects) and '_resolved_by' in tidemark.names_in(rejects)) }}
{%- endmacro -%}

{#- A table of rejects that an earlier version made has no `_resolved_by`. -#}
{%- macro evolve_rejects(rejects) -%}
    {%- if tidemark.relation_exists(rejects) and not tidemark.has_resolved_by(rejects) -%}
        {%- do run_query('alter table ' ~ rejects ~ ' add columns (_resolved_by bigint)') -%}
    {%- endif -%}
{%- endmacro -%}
