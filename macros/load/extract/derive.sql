{#- The rows of the log that a date brings, and what goes beside them; `outcome` repeat for a date that came again as it was. -#}
{%- macro extract__derive(opened, staged, commit) -%}
    {%- set cfg, relations, plan, figures = opened['cfg'], opened['relations'], staged['plan'], staged['figures'] -%}
    {%- if staged.get('is_repeat') -%}{{ return({'outcome': 'repeat', 'load': staged['load'], 'figures': figures}) }}{%- endif -%}
    {%- set load = dict(staged['load'], log_version=tidemark.version_to_append(opened, staged['load'])) -%}
    {%- set written = tidemark.files_of_workers(opened, staged, load) -%}
    {%- if written -%}
        {{ return({
            'outcome': 'commit', 'load': load, 'figures': figures, 'numbers': tidemark.versions_before(opened, load),
            'uncommitted': written, 'beside': [],
        }) }}
    {%- endif -%}
    {%- set rows = tidemark.rows_to_log(opened, plan, load, figures) -%}
    {%- set figures = dict(figures, **rows['counts']) -%}
    {%- set logs_nothing = not figures['rows_logged'] and not figures['rows_superseded'] -%}
    {%- if load['this_commit_id'] is not none and logs_nothing and not load['rebuild'] and tidemark.observed_the_same(cfg, relations, load) -%}
        {{ return({'outcome': 'repeat', 'load': load, 'figures': figures, 'rejects_commit_id': load['this_commit_id']}) }}
    {%- endif -%}
    {%- set uncommitted = none -%}
    {%- if figures['rows_logged'] and load['forward'] and load['log_version'] is not none -%}
        {%- set uncommitted = tidemark.staged_log_rows(opened, plan, load, rows['slice'], {'rows_logged': 'count(*)'}) -%}
        {%- do tidemark.check_staged(cfg, uncommitted, figures['rows_logged']) -%}
    {%- endif -%}
    {{ return({
        'outcome': 'commit', 'load': load, 'figures': figures, 'numbers': tidemark.versions_before(opened, load),
        'uncommitted': uncommitted, 'slice': rows['slice'], 'beside': tidemark.beside_extract(opened, plan, load, figures, rows),
    }) }}
{%- endmacro -%}

{#- How many rejects of a date that was loaded before are new; none of another date. -#}
{%- macro count_new_rejects(relations, load, figures) -%}
    {%- if not figures['rows_rejected'] or load['this_commit_id'] is none -%}{{ return(none) }}{%- endif -%}
    {{ return(tidemark.query_rows(tidemark.new_rejects_sql(
        tidemark.rejected_rows_sql(load['classified']), relations['rejects'], load['this_commit_id']
    ))[0]['new_count'] | int) }}
{%- endmacro -%}

{#- What the commit puts into the log: `rows` a view with all columns, `slice` what the log is written from, `counts` of it. A date
    after all others only appends, straight from the view. Anything else is worked out once and put into a table of its own (without
    sensitive columns), because it is read several times, between writes that would make Spark forget a cache. -#}
{%- macro rows_to_log(opened, plan, load, figures) -%}
    {%- set cfg, targets = opened['cfg'], tidemark.write_relations(opened) -%}
    {%- set changed = tidemark.run_view(cfg['target'], 'changed') -%}
    {%- do tidemark.make_view(changed, tidemark.changed_rows_sql(load['classified'])) -%}
    {%- if load['forward'] and not plan['sensitive'] -%}
        {{ return({'rows': changed, 'slice': changed, 'counts': {
            'rows_logged': figures['rows_inserted'] + figures['rows_updated'] + figures['rows_deleted'], 'rows_superseded': 0,
        }}) }}
    {%- endif -%}

    {%- set rows = changed -%}
    {%- if not load['forward'] -%}
        {%- set rows = tidemark.run_view(cfg['target'], 'revised') -%}
        {%- set logged = tidemark.run_view(cfg['target'], 'logged') -%}
        {%- do tidemark.make_view(logged, tidemark.logged_rows_sql(plan, targets, changed, load['business_date']), true) -%}
        {%- do tidemark.make_view(rows, tidemark.revised_rows_sql(cfg, plan, targets, {'changed': changed, 'logged': logged}, load), plan['sensitive']) -%}
    {%- endif -%}
    {%- set names = tidemark.slice_columns(plan) + ([] if load['forward'] else ['_supersedes']) -%}
    {%- set slice = tidemark.make_slice(cfg['target'], load['commit_id'], 'log', 'select\n    ' ~ tidemark.column_list_expr(names) ~ '\nfrom ' ~ rows) -%}
    {%- set marks = 'false' if load['forward'] else '_supersedes is not null' -%}
    {%- set counts = run_query('select count_if(not ' ~ marks ~ '), count_if(' ~ marks ~ ') from ' ~ slice)[0] -%}
    {{ return({'rows': rows, 'slice': slice, 'counts': {'rows_logged': counts[0] | int, 'rows_superseded': counts[1] | int}}) }}
{%- endmacro -%}

{#- Whether a date that was loaded before came again with nothing new, also not in what it supplied or rejected. -#}
{%- macro observed_the_same(cfg, relations, load) -%}
    {%- set now = tidemark.rejected_rows_sql(load['classified']) -%}
    {%- set before = 'select _reject_reason, _key_hash, _raw_payload from ' ~ relations['rejects'] ~ ' where '
        ~ tidemark._loads_expr([{'business_date': load['business_date'], 'commit_id': load['this_commit_id']}]) -%}
    {%- set checks = [tidemark.differs_sql(now, before)] -%}
    {%- if cfg['extract'] == 'delta' -%}
        {%- set now = tidemark.supplied_keys_sql(load['classified']) -%}
        {%- set before = 'select _key_hash from ' ~ relations['supplied'] ~ ' where '
            ~ tidemark._loads_expr([{'business_date': load['business_date'], 'commit_id': load['this_commit_id']}]) -%}
        {%- do checks.append(tidemark.differs_sql(now, before)) -%}
    {%- endif -%}
    {%- for check in checks -%}
        {%- if run_query(check) | length > 0 -%}{{ return(false) }}{%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{%- endmacro -%}

{#- Rejects, supplied keys and sensitive values: they count once the log has the commit. -#}
{%- macro beside_extract(opened, plan, load, figures, rows) -%}
    {%- set cfg, targets = opened['cfg'], tidemark.write_relations(opened) -%}
    {%- set stamp = "date'" ~ load['business_date'] ~ "' as _business_date, " ~ load['commit_id'] ~ ' as _commit_id' -%}
    {%- set statements = [] -%}
    {%- if figures['rows_rejected'] -%}
        {%- do statements.append(tidemark.insert_sql(targets['rejects'], tidemark.rejects_columns(),
            'select *, ' ~ stamp ~ ', cast(null as bigint) as _resolved_by from (' ~ tidemark.rejected_rows_sql(load['classified']) ~ ')', cfg['file_format'])) -%}
    {%- endif -%}
    {%- if cfg['extract'] == 'delta' -%}
        {%- do statements.append(tidemark.insert_sql(targets['supplied'], tidemark.supplied_columns(),
            'select *, ' ~ stamp ~ ' from (' ~ tidemark.supplied_keys_sql(load['classified']) ~ ')', cfg['file_format'])) -%}
    {%- endif -%}
    {%- if plan['sensitive'] and figures['rows_logged'] -%}
        {%- set rows_sql = 'select *, ' ~ load['commit_id'] ~ ' as _commit_id from ' ~ rows['rows']
            ~ ('' if load['forward'] else ' where _supersedes is null') -%}
        {%- do statements.append(tidemark.insert_sql(targets['sensitive'], tidemark.sensitive_columns(plan), rows_sql, cfg['file_format'])) -%}
    {%- endif -%}
    {{ return(statements) }}
{%- endmacro -%}
