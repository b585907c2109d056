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
    {%- do exceptions.raise_compiler_error(
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
