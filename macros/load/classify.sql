{#- Make the view `load['existing']` of what stood before the date, unless the load is the first. -#}
{%- macro prepare_comparison(cfg, plan, state, relations, load) -%}
    {%- if not state['first'] -%}
        {%- do tidemark.evolve_tables(cfg, plan, state, relations) -%}
        {%- do load.update({'existing': tidemark.run_view(cfg['target'], 'existing')}) -%}
        {%- do run_query('create or replace temporary view ' ~ load['existing'] ~ ' as\n' ~ (
            tidemark.existing_rows_sql(cfg, plan, dict(relations, current=tidemark.as_it_is(cfg, relations['current'], 'current'))) if load['forward']
            else tidemark.state_at_sql(plan, relations, load['previous_date'])
        )) -%}
    {%- endif -%}
{%- endmacro -%}


{#-
    Compare what is staged with what stood before the date and write what changed straight into the log, where no commit
    names it yet: `load['staged_changes']`. Returns the figures of the run, or none where what changed has to be read again before
    the log has it: to correct dates, to show rejects, for what goes beside the log.
-#}
{%- macro stage_changes(cfg, plan, state, relations, load) -%}
    {%- if cfg['extract'] != 'full' or cfg['on_reject'] != 'fail' or not tidemark.can_stage_changes(plan, state, load) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set rows = tidemark.classified_rows_sql(cfg, plan, tidemark.run_view(cfg['target'], 'staged'), load['existing'], none) -%}
    {%- set staged = adapter.stage_rows(
        relations['log'], state['log_version'], rows, tidemark.figures_of_changes(), tidemark.staged_changes_sql(plan, '{counted}', load)
    ) -%}
    {%- if staged.figures['rows_rejected'] -%}
        {%- do adapter.discard_rows(staged) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set counted = staged.figures['rows_inserted'] + staged.figures['rows_updated'] + staged.figures['rows_deleted'] -%}
    {%- do tidemark.check_staged(cfg, staged, counted) -%}
    {%- do load.update({'staged_changes': staged}) -%}
    {%- set figures = {'rows_logged': staged.rows, 'rows_superseded': 0, 'rows_not_supplied': 0, 'rejects': []} -%}
    {%- do figures.update(staged.figures) -%}
    {{ return(figures) }}
{%- endmacro -%}


{#-
    Compare what is staged with what stood before the date, and count. The extract is read once: what changed is kept
    as a table of the run, `load['classified']`. Returns the figures of the run.
-#}
{%- macro classify(cfg, plan, relations, load) -%}
    {%- set staged = tidemark.run_view(cfg['target'], 'staged') -%}
    {%- set existing = load.get('existing') -%}
    {#- Of current as it is Delta knows the number of rows. -#}
    {%- set counted = relations['current'] if existing and load['forward'] and not cfg['soft_delete'] else existing -%}
    {%- if existing and cfg['extract'] == 'delta' -%}
        {%- set staged = tidemark.kept_rows(cfg, plan, load, 'staged_rows', 'select * from ' ~ staged) -%}
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
{%- macro check_rejects(cfg, plan, run, load, figures) -%}
    {%- if figures['rows_rejected'] and cfg['on_reject'] == 'fail' -%}
        {%- set samples = tidemark.query_rows(
            tidemark.rejected_rows_sql(load['classified'])
            ~ '\norder by _reject_reason, _raw_payload\nlimit ' ~ run['sample_rows']
        ) -%}
        {%- do tidemark.raise_rejects(
            cfg, figures, ['row', 'rows'], figures['rejects'], samples, tidemark._mending(cfg, plan, figures['rejects']), of=' of business date ' ~ run['business_date']
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- How to mend rows that were rejected: where some are in another encoding, that can be declared. -#}
{%- macro _mending(cfg, plan, rejects) -%}
    {%- if '_malformed' in plan['supplied'] and 'unreadable' in rejects | map(attribute='reason') -%}
        {{ return('Mend the extract' ~ (', which must be UTF-8' if cfg['format'] == 'json'
            else ', say which encoding it has (options: {encoding: windows-1252} in meta.tidemark)')) }}
    {%- endif -%}
    {{ return('Mend the extract') }}
{%- endmacro -%}


{#- Stop a full extract that is empty or would delete more than it may. -#}
{%- macro check_deletes(cfg, run, load, figures) -%}
    {%- set allowed = cfg['max_delete_fraction'] * figures['existing'] -%}
    {%- set storm = cfg['extract'] == 'full' and figures['existing'] > 0 and not run['allow_deletes']
        and (figures['rows_read'] == 0 or figures['rows_deleted'] > allowed) -%}
    {%- if storm -%}
        {%- if load.get('staged_changes') -%}
            {%- do adapter.discard_rows(load['staged_changes']) -%}
        {%- endif -%}
        {%- do tidemark.forget_run_views(cfg['target']) -%}
        {%- do tidemark.raise_error('data',
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
                            ('X', 'rows_not_supplied'), ('rejected', 'rows_rejected'), ('duplicate', 'rows_duplicate'), ('tied', 'rows_tied')] -%}
        {%- if figures[name] or name in ['rows_inserted', 'rows_updated', 'rows_deleted'] -%}
            {%- do parts.append(label ~ ' ' ~ figures[name]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return((parts + figures.get('notes', [])) | join(', ')) }}
{%- endmacro -%}
