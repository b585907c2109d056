{#-
    Compare what is staged with what stood before the date, and count. The extract is read once: what changed is kept
    as a table of the run, `load['classified']`. Returns the figures of the run.
-#}
{%- macro classify(cfg, plan, run, state, relations, load) -%}
    {%- set staged = tidemark.run_view(cfg['target'], 'staged') -%}
    {%- set existing, counted = none, none -%}
    {%- if not state['first'] -%}
        {%- do tidemark.evolve_tables(cfg, plan, state, relations) -%}
        {%- set existing = tidemark.run_view(cfg['target'], 'existing') -%}
        {%- do run_query('create or replace temporary view ' ~ existing ~ ' as\n' ~ (
            tidemark.existing_rows_sql(cfg, plan, relations) if load['forward'] else tidemark.state_at_sql(plan, relations, load['previous_date'])
        )) -%}
        {#- Of current as it is Delta knows the number of rows. -#}
        {%- set counted = relations['current'] if load['forward'] and not cfg['soft_delete'] else existing -%}
        {%- if cfg['extract'] == 'delta' -%}
            {%- set staged = tidemark.kept_rows(cfg, plan, load, 'staged_rows', 'select * from ' ~ staged) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do load.update({'classified': tidemark.kept_rows(
        cfg, plan, load, 'classified', tidemark.classified_rows_sql(cfg, plan, staged, existing, load['business_date'])
    )}) -%}

    {%- set keys = {'I': 0, 'U': 0, 'D': 0, 'N': 0} -%}
    {%- set rejects = [] -%}
    {%- set totals = namespace(existing=0, matched=0, read=0, rejected=0, duplicate=0) -%}
    {%- for row in tidemark.query_rows(tidemark.count_changes_sql(load['classified'], counted)) -%}
        {%- set rows, copies = row['row_count'] | int, row['copies'] | int -%}
        {%- if row['operation'] == 'existing' -%}
            {%- set totals.existing = row['existing_count'] | int -%}
        {%- elif row['operation'] == 'R' -%}
            {%- do rejects.append({'reason': row['reason'], 'count': rows}) -%}
            {%- set totals.rejected, totals.read = totals.rejected + rows, totals.read + rows -%}
            {%- set totals.matched = totals.matched + row['existing_count'] | int -%}
        {%- else -%}
            {%- do keys.update({row['operation']: rows}) -%}
            {%- set totals.read, totals.matched = totals.read + copies, totals.matched + row['existing_count'] | int -%}
            {%- if row['operation'] != 'D' -%}
                {%- set totals.duplicate = totals.duplicate + copies - rows -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {#- Rows that stood before and were not met: of a full extract they came as they were, once each. -#}
    {%- set left = totals.existing - totals.matched -%}
    {%- set unchanged = left if cfg['extract'] == 'full' else 0 -%}
    {{ return({
        'rows_read': totals.read + unchanged,
        'rows_inserted': keys['I'],
        'rows_updated': keys['U'],
        'rows_deleted': keys['D'],
        'rows_unchanged': keys['N'] + unchanged,
        'rows_not_supplied': left - unchanged,
        'rows_rejected': totals.rejected,
        'rows_duplicate': totals.duplicate,
        'existing': totals.existing,
        'rejects': rejects | sort(attribute='count', reverse=true),
    }) }}
{%- endmacro -%}


{#- Stop a run whose extract has rows that cannot be used, unless they go to quarantine. -#}
{%- macro check_rejects(cfg, run, load, figures) -%}
    {%- if figures['rows_rejected'] and cfg['on_reject'] == 'fail' -%}
        {%- set samples = tidemark.query_rows(
            tidemark.rejected_rows_sql(load['classified'])
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
        {%- do tidemark.forget_run_views(cfg['target']) -%}
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
