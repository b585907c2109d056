{#- Statements that fill new tables with the rows of the old ones and their new hashes: first those beside the
    log, the log last, so that a log that is whole says that all are. `hashes` are the algorithms: `now`, and
    `before` where that is another one. -#}
{%- macro rehash_sql(cfg, roles, hashes, relations) -%}
    {%- set make = tidemark.for_format(cfg['file_format'], 'create_table') -%}
    {%- set keys = [] -%}
    {%- for name in cfg['keys'] -%}
        {%- for column in roles['columns'] if column['name'] | lower == name | lower -%}
            {%- do keys.append(column) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set rehashed -%}
select
    * except (_key_hash, _row_hash),
    _key_hash as _old_key_hash,
    {{ tidemark.row_hash_expr(keys, hashes['now']) | indent(4) }} as _key_hash,
    {{ tidemark.row_hash_expr(roles['compared'], hashes['now']) | indent(4) }} as _row_hash
from (
    {{ tidemark.log_with_sensitive_sql(roles, relations) | indent(4) }}
)
    {%- endset -%}
    {%- set statements = [] -%}

    {%- set sides = [('rejects', tidemark.rejects_columns())] -%}
    {%- if tidemark.has_deltas(cfg) -%}
        {%- do sides.append(('supplied', tidemark.supplied_columns())) -%}
    {%- endif -%}
    {%- if roles['sensitive'] -%}
        {%- do sides.append(('sensitive', tidemark.sensitive_columns(roles))) -%}
    {%- endif -%}
    {%- for name, columns in sides -%}
        {%- set new = tidemark.new_relation(relations[name]) -%}
        {%- if name == 'sensitive' -%}
            {%- set query = rehashed -%}
        {%- else -%}
            {%- set known = tidemark._read_key_hashes_sql(keys, hashes, name, relations[name]) -%}
            {%- set query = 'select side.* except (_key_hash, _read_key_hash), coalesce(keys._key_hash, '
                ~ 'side._read_key_hash) as _key_hash\n'
                ~ 'from (\n    ' ~ known | indent(4) ~ '\n) as side\n'
                ~ 'left join (\n    select distinct _old_key_hash, _key_hash from (' ~ rehashed
                    ~ ')\n) as keys '
                ~ 'on side._key_hash = keys._old_key_hash' -%}
        {%- endif -%}
        {%- do statements.append(tidemark.drop_table_sql(new)) -%}
        {%- do statements.extend(make(new, columns, {'side': true})) -%}
        {%- do statements.append(tidemark.insert_sql(new, columns, query)) -%}
    {%- endfor -%}

    {%- set new_log = tidemark.new_relation(relations['log_table']) -%}
    {%- do statements.append(tidemark.drop_table_sql(new_log)) -%}
    {%- do statements.extend(tidemark.for_format(cfg['file_format'], 'create_log')(
        cfg, {'log': new_log, 'log_table': new_log}, tidemark.log_columns(roles)
    )) -%}
    {%- do statements.append(tidemark.insert_sql(new_log, tidemark.log_columns(roles), rehashed)) -%}
    {{ return(statements) }}
{%- endmacro -%}

{#- The rows of a side table with what the hash of their key will be where the log does not have the key
    (`_read_key_hash`): as it is if the algorithm stays; else of a reject the hash of the key that its payload
    shows, if that is the key which was hashed before. -#}
{%- macro _read_key_hashes_sql(keys, hashes, name, relation) -%}
    {%- if not hashes['before'] -%}
        {{ return('select *, _key_hash as _read_key_hash from ' ~ relation) }}
    {%- endif -%}
    {%- set nested = [] -%}
    {%- for key in keys if tidemark._nested_kind(key['type']) or key['type'] == 'variant' -%}
        {%- do nested.append(key['name']) -%}
    {%- endfor -%}
    {%- if name != 'rejects' or nested -%}{{ return('select *, cast(null as string) as _read_key_hash from '
        ~ relation) }}{%- endif -%}
    {%- set values, names = [], [] -%}
    {%- for key in keys -%}
        {%- set shown = "from_json(_raw_payload, 'map<string, string>')["
            ~ tidemark.string_literal(key['name']) ~ ']' -%}
        {%- do names.append(tidemark.quote_identifier(key['name'])) -%}
        {%- do values.append('try_cast(' ~ shown ~ ' as ' ~ key['type'] ~ ') as ' ~ names[-1]) -%}
    {%- endfor -%}
    {%- set is_it = '_key_hash = ' ~ tidemark.row_hash_expr(keys, hashes['before']) -%}
    {{ return(
        'select * except (' ~ names | join(', ') ~ '), '
            ~ tidemark.row_hash_expr(keys, hashes['now'], only_if=is_it) ~ ' as _read_key_hash'
        ~ '\nfrom (\n    select *, ' ~ values | join(', ') ~ ' from ' ~ relation ~ '\n)'
    ) }}
{%- endmacro -%}
