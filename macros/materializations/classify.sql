{#-
    Compare what is staged with what stood before the date, and count: one pass over the extract, of which only keys
    and hashes take part in the join. Returns the figures of the run.
-#}
{%- macro classify(cfg, plan, run, state, relations, load) -%}
    {%- set staged = tidemark.run_view(cfg['target'], 'staged') -%}
    {%- set existing = tidemark.run_view(cfg['target'], 'existing') -%}
    {%- set classified = tidemark.run_view(cfg['target'], 'classified') -%}

    {%- if state['first'] -%}
        {%- set existing_sql = 'select * from ' ~ staged ~ ' where false' -%}
    {%- else -%}
        {%- do tidemark.evolve_tables(cfg, plan, state, relations) -%}
        {%- if load['forward'] -%}
            {%- set existing_sql = tidemark.existing_rows_sql(cfg, plan, relations) -%}
        {%- else -%}
            {%- set existing_sql = tidemark.state_at_sql(plan, relations, load['previous_date']) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do run_query('create or replace temporary view ' ~ existing ~ ' as\n' ~ existing_sql) -%}
    {%- do run_query(
        'create or replace temporary view ' ~ classified ~ ' as\n' ~ tidemark.classify_changes_sql(cfg, staged, existing)
    ) -%}
    {%- do run_query('cache lazy table ' ~ classified) -%}

    {%- set keys = {} -%}
    {%- set rows = {} -%}
    {%- set rejects = [] -%}
    {%- set totals = namespace(existing=0, matched=0, read=0, rejected=0, duplicate=0) -%}
    {%- for row in tidemark.query_rows(tidemark.count_changes_sql(staged, classified, existing)) -%}
        {%- if row['figure'] == 'operation' -%}
            {%- do keys.update({row['name']: row['key_count'] | int}) -%}
            {%- set totals.matched = totals.matched + row['existing_count'] | int -%}
            {%- set totals.read = totals.read + row['row_count'] | int -%}
            {%- if row['name'] in ['I', 'U', 'N'] -%}
                {%- set totals.duplicate = totals.duplicate + row['row_count'] | int - row['key_count'] | int -%}
            {%- endif -%}
        {%- elif row['figure'] == 'reject' -%}
            {%- do rejects.append({'reason': row['name'], 'count': row['row_count'] | int}) -%}
            {%- set totals.rejected = totals.rejected + row['row_count'] | int -%}
            {%- set totals.read = totals.read + row['existing_count'] | int -%}
        {%- else -%}
            {%- set totals.existing = row['row_count'] | int -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'rows_read': totals.read,
        'rows_inserted': keys.get('I', 0),
        'rows_updated': keys.get('U', 0),
        'rows_deleted': keys.get('D', 0),
        'rows_unchanged': keys.get('N', 0),
        'rows_not_supplied': totals.existing - totals.matched if cfg['extract'] == 'delta' else 0,
        'rows_rejected': totals.rejected,
        'rows_duplicate': totals.duplicate,
        'existing': totals.existing,
        'rejects': rejects | sort(attribute='count', reverse=true),
    }) }}
{%- endmacro -%}


{#- Stop a run whose extract has rows that cannot be used, unless they go to quarantine. -#}
{%- macro check_rejects(cfg, plan, run, figures) -%}
    {%- if figures['rows_rejected'] and cfg['on_reject'] == 'fail' -%}
        {%- set samples = tidemark.query_rows(
            tidemark.rejected_rows_sql(plan, tidemark.run_view(cfg['target'], 'staged'), tidemark.run_view(cfg['target'], 'classified'))
            ~ '\norder by _reject_reason, _raw_payload\nlimit ' ~ run['sample_rows']
        ) -%}
        {%- do tidemark.raise_rejects(
            cfg, figures, ['row', 'rows'], figures['rejects'], samples, 'Mend the extract', of=' of business date ' ~ run['business_date']
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Stop a full extract that is empty or would delete more than it may. -#}
{%- macro check_deletes(cfg, run, figures) -%}
    {%- set allowed = cfg['max_delete_fraction'] * figures['existing'] -%}
    {%- set storm = cfg['extract'] == 'full' and figures['existing'] > 0 and not run['allow_deletes']
        and (figures['rows_read'] == 0 or figures['rows_deleted'] > allowed) -%}
    {%- if storm -%}
        {%- do exceptions.raise_compiler_error(
            cfg['entity'] ~ ': the extract of business date ' ~ run['business_date'] ~ ' has ' ~ figures['rows_read']
            ~ ' rows and would delete ' ~ figures['rows_deleted'] ~ ' of ' ~ figures['existing']
            ~ ' keys (max_delete_fraction is ' ~ cfg['max_delete_fraction'] ~ '); nothing was written. '
            ~ 'If that is right, let it through once with --vars \'{business_date: ' ~ run['business_date']
            ~ ', allow_deletes: true}\''
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- One line on what a run did. -#}
{%- macro summary(figures) -%}
    {%- set parts = [] -%}
    {%- for label, name in [('I', 'rows_inserted'), ('U', 'rows_updated'), ('D', 'rows_deleted'), ('N', 'rows_unchanged'),
                            ('X', 'rows_not_supplied'), ('rejected', 'rows_rejected'), ('duplicate', 'rows_duplicate')] -%}
        {%- if figures[name] or name in ['rows_inserted', 'rows_updated', 'rows_deleted'] -%}
            {%- do parts.append(label ~ ' ' ~ figures[name]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts | join(', ')) }}
{%- endmacro -%}
