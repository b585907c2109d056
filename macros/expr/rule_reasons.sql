{#- Why a row is a reject by the rules of the YAML: as with CHECK in SQL NULL is no failure. Those that only
    warn, or stop the load, reject none. -#}
{%- macro rule_reasons(cfg) -%}
    {%- set reasons = [] -%}
    {%- for rule in cfg.get('rules', []) if rule['on_fail'] == 'quarantine' -%}
        {%- do reasons.append({'condition': 'not (' ~ rule['check'] ~ ')',
            'text': tidemark.string_literal('rule: ' ~ rule['name'])}) -%}
    {%- endfor -%}
    {{ return(reasons) }}
{%- endmacro -%}

{#- The rows of an extract, typed, with those that a rule rejects told as such; all else is as it is. -#}
{%- macro ruled_rows_sql(cfg, roles, typed) -%}
select
    {{ tidemark.column_list_expr(roles['columns'] | map(attribute='name')) }},
    _key_hash,
    _row_hash,
    {{ tidemark.reason_by_rules(cfg) | indent(4) }},
    _raw_payload
from {{ typed }}
{%- endmacro -%}

{#- The reason of a reject, that of a rule where there is no other. -#}
{%- macro reason_by_rules(cfg) -%}
{%- set reasons = tidemark.rule_reasons(cfg) -%}
{%- if reasons -%}
case
    when _reject_reason is not null then _reject_reason
    {%- for reason in reasons %}
    when {{ reason['condition'] }} then {{ reason['text'] }}
    {%- endfor %}
end as _reject_reason
{%- else -%}
_reject_reason
{%- endif -%}
{%- endmacro -%}

{#- How many rows fail each rule, in one row, by its number; rows that are rejects for another reason are held
    to none. -#}
{%- macro rule_counts_sql(cfg, rows, condition='_reject_reason is null') -%}
select
    {%- for rule in cfg['rules'] %}
    count_if(not ({{ rule['check'] }})) as rule_{{ loop.index }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ rows }}
where {{ condition }}
{%- endmacro -%}
