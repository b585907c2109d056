{#- Statements that fill new tables with the rows of the old ones and their new hashes: first those beside the log, the log last, so
    that a log that is whole says that all are. -#}
{%- macro rehash_sql(cfg, plan, algorithm, relations) -%}
    {%- set make = tidemark.for_format(cfg['file_format'], 'create_table') -%}
    {%- set keys = [] -%}
    {%- for name in cfg['keys'] -%}
        {%- for column in plan['columns'] if column['name'] | lower == name | lower -%}{%- do keys.append(column) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set rehashed -%}
select
    * except (_key_hash, _row_hash),
    _key_hash as _old_key_hash,
    {{ tidemark.row_hash_expr(keys, algorithm) | indent(4) }} as _key_hash,
    {{ tidemark.row_hash_expr(plan['compared'], algorithm) | indent(4) }} as _row_hash
from (
    {{ tidemark.log_with_sensitive_sql(plan, relations) | indent(4) }}
)
    {%- endset -%}
    {%- set statements = [] -%}

    {%- set sides = [('rejects', tidemark.rejects_columns())] -%}
    {%- if cfg['extract'] == 'delta' -%}{%- do sides.append(('supplied', tidemark.supplied_columns())) -%}{%- endif -%}
    {%- if plan['sensitive'] -%}{%- do sides.append(('sensitive', tidemark.sensitive_columns(plan))) -%}{%- endif -%}
    {%- for name, columns in sides -%}
        {%- set new = tidemark.new_relation(relations[name]) -%}
        {%- if name == 'sensitive' -%}
            {%- set query = rehashed -%}
        {%- else -%}
            {%- set query = 'select side.* except (_key_hash), keys._key_hash\nfrom ' ~ relations[name] ~ ' as side\n'
                ~ 'left join (\n    select distinct _old_key_hash, _key_hash from (' ~ rehashed ~ ')\n) as keys '
                ~ 'on side._key_hash = keys._old_key_hash' -%}
        {%- endif -%}
        {%- do statements.append(tidemark.drop_table_sql(new)) -%}
        {%- do statements.extend(make(new, columns, {'side': true})) -%}
        {%- do statements.append(tidemark.insert_sql(new, columns, query)) -%}
    {%- endfor -%}

    {%- set new_log = tidemark.new_relation(relations['log_table']) -%}
    {%- do statements.append(tidemark.drop_table_sql(new_log)) -%}
    {%- do statements.extend(tidemark.for_format(cfg['file_format'], 'create_log')(
        cfg, {'log': new_log, 'log_table': new_log}, tidemark.log_columns(plan)
    )) -%}
    {%- do statements.append(tidemark.insert_sql(new_log, tidemark.log_columns(plan), rehashed)) -%}
    {{ return(statements) }}
{%- endmacro -%}
