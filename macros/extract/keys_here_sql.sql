{#- How many keys a date that comes again has inserted and deleted so far, how many of those it would delete
    again, and how many of the others would leave: they do not come, or not so that they can be used. What a
    scoped extract deleted in a scope that does not come again is there again, and not counted. -#}
{%- macro keys_here_sql(cfg, classified, log_relation, business_date) -%}
{%- set seen = ' and found._operation is not null' if cfg['extract'] == 'scoped' else '' -%}
select
    count_if(here._operation = 'I') as inserted,
    count_if(here._operation = 'D'{{ seen }}) as deleted,
    count_if(here._operation = 'D' and found._operation <=> 'D') as deleted_again,
    count_if(here._operation = 'I' and found._operation is null) as gone
from (
    select
        _key_hash,
        _operation
    from {{ log_relation }}
    where _business_date = date'{{ business_date }}' and _operation in ('I', 'D')
        and {{ tidemark.in_force_expr() }}
) as here
left outer join (
    select
        _key_hash,
        _operation
    from {{ classified }}
    where _operation <> 'R'
) as found on here._key_hash = found._key_hash
{%- endmacro -%}
