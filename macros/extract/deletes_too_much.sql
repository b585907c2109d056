{#- Whether a full extract is empty or would delete more than it may. What the date deletes already, as it was loaded before, does not
    count: it has been let through. The limit is rounded, as 0.29 * 100 is a little less than 29. -#}
{%- macro deletes_too_much(cfg, figures) -%}
    {%- set existing, deleted = figures.get('existing') or 0, (figures.get('rows_deleted') or 0) - figures.get('known_deletes', 0) -%}
    {{ return(existing > 0 and deleted > 0 and (figures['rows_read'] == 0 or deleted > (cfg['max_delete_fraction'] * existing) | round(6))) }}
{%- endmacro -%}

{#- How many keys that a date would delete it deletes already. -#}
{%- macro known_deletes_sql(classified, log_relation, business_date) -%}
select count(*)
from {{ classified }} as deleted
left semi join (
    select _key_hash
    from {{ log_relation }}
    where _business_date = date'{{ business_date }}' and _operation = 'D' and {{ tidemark.in_force_expr() }}
) as known_deletes on deleted._key_hash = known_deletes._key_hash
where deleted._operation = 'D'
{%- endmacro -%}
