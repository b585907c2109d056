{#- Stop a load before anything is written: rows that cannot be used, or more deletes than are allowed. Of events that come behind a statement
    of the source the tables are as they were before it then. -#}
{%- macro check_load(opened, staged) -%}
    {%- set why = tidemark.why_rejects_stop(opened['cfg'], opened['run'], staged['figures'], staged['rejects']) -%}
    {%- set begun = (staged.get('load') or {}).get('begun') if why else none -%}
    {%- if begun -%}
        {%- do tidemark.undo_statement(opened, begun) -%}
        {%- do tidemark.record_commit(opened['commits'], begun, 'rolled_back', {}) -%}
    {%- endif -%}
    {%- if why -%}{%- do tidemark.raise_error('data', why) -%}{%- endif -%}
    {%- do tidemark.check_deletes(opened, staged) -%}
    {%- do tidemark.check_planned(opened, staged) -%}
{%- endmacro -%}

{#- Stop a load whose rows are staged: nothing of them is left. -#}
{%- macro stop_load(cfg, staged, why) -%}
    {%- if staged['uncommitted'] -%}{%- do adapter.discard_rows(staged['uncommitted']) -%}{%- endif -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- do tidemark.raise_error('data', cfg['entity'] ~ ': ' ~ why) -%}
{%- endmacro -%}

{#- Stop the load of a plan that counts otherwise: what the model reads is not all in files and tables whose versions a plan knows, such as a
    view, a macro or a var. Of change events the changes are counted later. -#}
{%- macro check_planned(opened, staged) -%}
    {%- set cfg, figures = opened['cfg'], staged['figures'] -%}
    {%- set planned = opened['run'].get('planned', {}).get(cfg['relation'], {}) -%}
    {%- set differing = [] -%}
    {%- for name, count in planned.items() if cfg['extract'] != 'events' or name in ['rows_read', 'rows_rejected'] -%}
        {%- set found = (figures.get(name) or 0) | int -%}
        {%- if found != count -%}{%- do differing.append('\n  - ' ~ name ~ ' is ' ~ found ~ ', planned were ' ~ count) -%}{%- endif -%}
    {%- endfor -%}
    {%- if differing -%}
        {%- do tidemark.stop_load(cfg, staged, 'its plan does not hold any more, as what the model reads is another; nothing was written: plan again'
            ~ differing | join('')) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What a load stops with by `on_reject: fail`, or as it rejects more than it may; none if it goes on. `rejects` says what they are: `units` names one of them and several,
    `rows` is SQL or a relation with `_reject_reason`, `samples` such rows with `_raw_payload` (none: samples would show what people sent),
    `of` is said of the rows, `advice` how to mend them, `failed` is a query of what failed in each column, also of rows that are rejected
    for another one. -#}
{%- macro why_rejects_stop(cfg, run, figures, rejects) -%}
    {%- if not tidemark.rejects_too_many(cfg, run, figures) -%}{{ return(none) }}{%- endif -%}
    {%- set units = rejects['units'] -%}
    {%- set lines, counted = [], {} -%}
    {%- for reject in tidemark.query_rows(
        'select _reject_reason as reason, count(*) as count from ' ~ rejects['rows'] ~ ' where _reject_reason is not null group by 1'
    ) + (tidemark.query_rows(rejects['failed']) if rejects.get('failed') else []) -%}
        {%- do counted.update({reject['reason']: reject}) -%}
    {%- endfor -%}
    {%- for reject in (counted.values() | sort(attribute='reason') | sort(attribute='count', reverse=true))[:20] -%}
        {%- do lines.append('\n  - ' ~ reject['reason'] ~ ': ' ~ reject['count'] ~ ' ' ~ (units[0] if reject['count'] == 1 else units[1])
            ~ tidemark._such_as(reject.get('value'))) -%}
    {%- endfor -%}
    {%- if counted | length > 20 -%}{%- do lines.append('\n  - ' ~ (counted | length - 20) ~ ' reasons more') -%}{%- endif -%}
    {%- if rejects['samples'] -%}
        {%- do lines.append('\nfor example') -%}
        {%- for row in tidemark.query_rows(rejects['samples'] ~ '\nlimit ' ~ run['sample_rows']) -%}
            {%- do lines.append('\n  - ' ~ row['_reject_reason'] ~ ': ' ~ (row['_raw_payload'] | string)[:300]) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- set more, way_on = '', 'or set on_reject: quarantine to put such ' ~ units[1] ~ ' aside and go on' -%}
    {%- if cfg['on_reject'] != 'fail' -%}
        {%- set new = figures.get('new_rejects') -%}
        {%- set more = ' (' ~ ('' if new is none else new ~ ' of them are new; ') ~ 'max_reject_fraction is ' ~ cfg['max_reject_fraction'] ~ ')' -%}
        {%- set way_on = 'or, if that is right, let it through once with --vars \'{' ~ ('business_date: ' ~ run['business_date'] ~ ', ' if run['business_date'] else '')
            ~ 'allow_rejects: true}\', or set max_reject_fraction higher' -%}
    {%- endif -%}
    {{ return(
        cfg['entity'] ~ ': ' ~ figures['rows_rejected'] ~ ' of ' ~ figures['rows_read'] ~ ' ' ~ units[1] ~ rejects['of'] ~ ' cannot be used; nothing was written' ~ more
        ~ lines | join('') ~ '\n' ~ rejects['advice'] ~ ', ' ~ way_on
    ) }}
{%- endmacro -%}

{#- A value that failed, on one line. -#}
{%- macro _such_as(value) -%}
    {%- if value is none -%}{{ return('') }}{%- endif -%}
    {%- set text = modules.re.sub('[\\x00-\\x1f\\x7f-\\x9f]', '?', value | string) -%}
    {{ return(", such as '" ~ text[:100] ~ ('…' if text | length > 100 else '') ~ "'") }}
{%- endmacro -%}

{#- Stop a full extract that is empty or would delete more than it may. -#}
{%- macro check_deletes(opened, staged) -%}
    {%- set cfg, run, figures = opened['cfg'], opened['run'], staged['figures'] -%}
    {%- if cfg.get('extract') == 'full' and not run['allow_deletes'] and tidemark.deletes_too_much(cfg, figures) -%}
        {%- set guarded = tidemark.guarded_deletes(figures) -%}
        {%- do tidemark.stop_load(cfg, staged,
            'the extract of business date ' ~ run['business_date'] ~ ' has ' ~ figures['rows_read']
            ~ ' rows and would delete ' ~ guarded['deleted'] ~ ' of ' ~ guarded['existing']
            ~ ' keys (max_delete_fraction is ' ~ cfg['max_delete_fraction'] ~ '); nothing was written. '
            ~ 'If that is right, let it through once with --vars \'{business_date: ' ~ run['business_date']
            ~ ', allow_deletes: true}\', or look at what would be deleted first: tidemark plan --select ' ~ cfg['entity']
            ~ ' --business-date ' ~ run['business_date']
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The figures of a load, with those of what its date has inserted and deleted so far; they are counted where they may decide. -#}
{%- macro with_keys_here(opened, load, figures) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- set may_delete_all = cfg['max_delete_fraction'] == 1 and figures['rows_read'] > 0 -%}
    {%- if load['this_commit_id'] is none or cfg['extract'] != 'full' or may_delete_all -%}{{ return(figures) }}{%- endif -%}
    {%- set here = {} -%}
    {%- for name, count in tidemark.query_rows(
        tidemark.keys_here_sql(load['classified'], opened['relations']['log'], load['business_date'])
    )[0].items() -%}
        {%- do here.update({name: count | int}) -%}
    {%- endfor -%}
    {{ return(dict(figures, here=here)) }}
{%- endmacro -%}

{#- The configuration is not the one that the entity's log was made with. `mending` says what else can be done. -#}
{%- macro check_drift(cfg, drift, mending) -%}
    {%- if drift -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': the configuration is not the one its log was made with; nothing was written\n  - '
            ~ drift | join('\n  - ') ~ '\nTake the change back, or start a new log ' ~ mending
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- As many rows were written as were counted; none, if another run came between or has taken this one for dead. -#}
{%- macro check_written(cfg, relation, counted, written, mending) -%}
    {%- if written == 0 and counted -%}
        {%- do tidemark.raise_moved(cfg, relation) -%}
    {%- elif written != counted -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ counted ~ ' rows were counted but ' ~ written ~ ' were written to ' ~ relation
            ~ '; what was read changed while it was read. ' ~ mending
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro raise_moved(cfg, relation) -%}
    {%- do tidemark.raise_error('data',
        cfg['entity'] ~ ': another run has written to ' ~ relation ~ ' since this one began, or has taken it for dead, so this one '
        ~ 'wrote nothing. Run it again'
    ) -%}
{%- endmacro -%}

{#- Another run has finished this one's commit, and may have written more since: what is left to do is none of this one's. -#}
{%- macro raise_finished(cfg, commit) -%}
    {%- do tidemark.raise_error('data', cfg['entity'] ~ ': another run has taken this one for dead, and finished its commit ' ~ commit['commit_id']) -%}
{%- endmacro -%}

{#- A warning on the console. None of dbt's, which --warn-error makes an error: what it tells of was written already. -#}
{%- macro warn(entity, text) -%}
    {%- do log('[WARNING]: ' ~ entity ~ ': ' ~ text, info=true) -%}
{%- endmacro -%}

{#- Say that a table does not follow the layout of the YAML; the commit to come records that. -#}
{%- macro tell_layout(cfg, recorded) -%}
    {%- set changed = tidemark.changed_layout(cfg, recorded) -%}
    {%- if changed -%}
        {%- do tidemark.warn(cfg['entity'], changed | join(' and ') ~ (' is' if changed | length == 1 else ' are') ~ ' not what ' ~ cfg['target']
            ~ ' was made with: the table stays as it is until --full-refresh') -%}
    {%- endif -%}
{%- endmacro -%}

{#- Say what went to quarantine, by reason, and where it is; of a date that was loaded before how much of it is new. The reasons
    are asked of the table where the rejects do not come with them (`reasons`). -#}
{%- macro tell_rejects(cfg, figures, rejects, relation, condition) -%}
    {%- if not figures.get('rows_rejected') -%}{{ return(none) }}{%- endif -%}
    {%- set counts = [] -%}
    {%- for row in rejects.get('reasons') or run_query(
        'select _reject_reason, count(*) from ' ~ relation ~ ' where ' ~ condition ~ ' group by 1 order by 2 desc nulls last, 1 asc nulls last limit 6'
    ) -%}
        {%- do counts.append(row[1] ~ ' ' ~ row[0] if loop.index < 6 else '…') -%}
    {%- endfor -%}
    {%- set new = figures.get('new_rejects') -%}
    {%- do tidemark.warn(
        cfg['entity'], figures['rows_rejected'] ~ ' of ' ~ figures['rows_read'] ~ ' '
        ~ (rejects['units'][0] if figures['rows_read'] == 1 else rejects['units'][1]) ~ rejects['of'] ~ ' went to quarantine'
        ~ ('' if new is none else ', ' ~ ('none' if new == 0 else new) ~ ' of them new') ~ ' (' ~ counts | join(', ')
        ~ '). To see them: select * from ' ~ relation ~ ' where ' ~ condition
    ) -%}
{%- endmacro -%}

{#- Say of the first change events of an entity that none was of its table: its name may be misspelt. -#}
{%- macro tell_other_tables(cfg, figures) -%}
    {%- if cfg.get('table') and figures.get('rows_ignored', 0) > 0 and figures['rows_ignored'] == figures['rows_read'] -%}
        {%- do tidemark.warn(
            cfg['entity'], 'none of the ' ~ figures['rows_read'] ~ ' messages that have landed is a change of ' ~ cfg['table'] ~ ' (table in meta.tidemark)'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
