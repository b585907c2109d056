{#-
    Stop a run that has rows which cannot be used, before anything is written. `units` names one of them and several,
    `reasons` has {reason, count}, `samples` has `_reject_reason` and `_raw_payload`, `advice` says how to mend them.
-#}
{%- macro raise_rejects(cfg, figures, units, reasons, samples, advice, of='') -%}
    {%- set lines = [] -%}
    {%- for reject in reasons -%}
        {%- do lines.append('\n  - ' ~ reject['reason'] ~ ': ' ~ reject['count'] ~ ' ' ~ (units[0] if reject['count'] == 1 else units[1])) -%}
    {%- endfor -%}
    {%- if samples -%}
        {%- do lines.append('\nfor example') -%}
    {%- endif -%}
    {%- for row in samples -%}
        {%- do lines.append('\n  - ' ~ row['_reject_reason'] ~ ': ' ~ (row['_raw_payload'] | string)[:300]) -%}
    {%- endfor -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- do tidemark.raise_error('data',
        cfg['entity'] ~ ': ' ~ figures['rows_rejected'] ~ ' of ' ~ figures['rows_read'] ~ ' ' ~ units[1] ~ of ~ ' cannot be used; nothing was written'
        ~ lines | join('') ~ '\n' ~ advice ~ ', or set on_reject: quarantine to put such ' ~ units[1] ~ ' aside and go on'
    ) -%}
{%- endmacro -%}


{#- `on_reject: fail` of enriched events and entities. Samples would show what people sent, so there are none. -#}
{%- macro check_rejected(cfg, figures, judged, units, advice) -%}
    {%- if figures['rows_rejected'] and cfg['on_reject'] == 'fail' -%}
        {%- set reasons = tidemark.query_rows(
            'select _reject_reason as reason, count(*) as count from ' ~ judged ~ ' where _reject_reason is not null group by 1 order by 2 desc, 1 limit 10'
        ) -%}
        {%- do tidemark.raise_rejects(cfg, figures, units, reasons, [], advice) -%}
    {%- endif -%}
{%- endmacro -%}


{#- A warning on the console. None of dbt's, which --warn-error makes an error: what it tells of was written already. -#}
{%- macro warn(entity, text) -%}
    {%- do log('[WARNING]: ' ~ entity ~ ': ' ~ text, info=true) -%}
{%- endmacro -%}


{#- Say what went to quarantine, by reason, and where it is; of a date that was loaded before how much of it is new. -#}
{%- macro tell_rejects(cfg, figures, units, relation, condition, of='', new=none) -%}
    {%- if not figures['rows_rejected'] -%}{{ return(none) }}{%- endif -%}
    {%- set counts = [] -%}
    {%- for row in run_query(
        'select _reject_reason, count(*) from ' ~ relation ~ ' where ' ~ condition ~ ' group by 1 order by 2 desc nulls last, 1 asc nulls last limit 6'
    ) -%}
        {%- do counts.append(row[1] ~ ' ' ~ row[0] if loop.index < 6 else '…') -%}
    {%- endfor -%}
    {%- do tidemark.warn(
        cfg['entity'], figures['rows_rejected'] ~ ' of ' ~ figures['rows_read'] ~ ' '
        ~ (units[0] if figures['rows_read'] == 1 else units[1]) ~ of ~ ' went to quarantine'
        ~ ('' if new is none else ', ' ~ ('none' if new == 0 else new) ~ ' of them new') ~ ' (' ~ counts | join(', ')
        ~ '). To see them: select * from ' ~ relation ~ ' where ' ~ condition
    ) -%}
{%- endmacro -%}
