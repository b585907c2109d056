{#- The rows of a current table as `tidemark replicator reconcile` compares them, one JSON array of texts per
    row. The same texts, digests and buckets are made at the source by the Python module
    tidemark.replicator.reconcile.dialects. `ask` says what: `figures` of buckets (number, rows, sum of the
    rows' digests), `digests` of rows (key, row, copies), or whole `rows`. `columns` are {name, type, form},
    those of the key first; `keys` is how many these are. -#}
{%- macro reconcile_sql(relation, columns, keys, ask, scope) -%}
{%- set names, items = [], [] -%}
{%- for column in columns -%}
    {%- do names.append('c' ~ loop.index) -%}
    {%- do items.append('coalesce(concat(char_length(c' ~ loop.index ~ "), ':', c" ~ loop.index
        ~ ", ';'), 'N;')") -%}
{%- endfor -%}
{%- set number = 'cast(conv(left(key_digest, 15), 16, 10) as bigint)' -%}
with texts as (
    select
        {%- for column in columns %}
        {{ tidemark.reconcile_text_expr(tidemark.quote_identifier(column['name']), column['type'],
            column['form']) }} as c{{ loop.index }} {{- ',' if not loop.last }}
        {%- endfor %}
    from {{ relation }}
    where coalesce(_operation, '') <> 'D'
),

digests as (
    select
        {%- if ask == 'rows' %}
        {{ names | join(', ') }},
        {%- endif %}
        md5(concat({{ items[:keys or items | length] | join(', ') }})) as key_digest,
        md5(concat({{ items | join(', ') }})) as row_digest
    from texts
)

{% if ask == 'figures' -%}
select to_json(array(
    cast({{ number }} % {{ scope['buckets'] }} as string),
    cast(count(*) as string),
    cast(sum(cast(conv(left(row_digest, 15), 16, 10) as decimal(38, 0))) as string)
)) as answer
from digests
{{ tidemark._reconcile_where(number, scope) -}}
group by {{ number }} % {{ scope['buckets'] }}
{%- elif ask == 'digests' -%}
select to_json(array(key_digest, row_digest, cast(count(*) as string))) as answer
from digests
{{ tidemark._reconcile_where(number, scope) -}}
group by key_digest, row_digest
{%- else -%}
select to_json(array(key_digest, row_digest, {{ names | join(', ') }})) as answer
from digests
where key_digest in ('{{ scope['digests'] | join("', '") }}')
{%- endif %}
{%- endmacro -%}

{%- macro _reconcile_where(number, scope) -%}
    {{ return('where ' ~ number ~ ' % ' ~ scope['modulus'] ~ ' in (' ~ scope['residues'] | join(', ') ~ ')\n'
        if scope['residues'] is not none else '') }}
{%- endmacro -%}

{#- The text of a value in a canonical form that the database of the source has too; see
    tidemark.replicator.reconcile.forms. Mostly that which is hashed, but decimals never have an exponent and
    wall times count from 1970 as well. -#}
{%- macro reconcile_text_expr(value, data_type, form, depth=1) -%}
    {%- set type = data_type | trim -%}
    {%- if form.startswith('array:') -%}
        {%- set item, text = 'x' ~ depth, 't' ~ depth -%}
        {{ return(
            "concat('[', concat_ws('', transform(transform(" ~ value ~ ', ' ~ item ~ ' -> '
            ~ tidemark.reconcile_text_expr(item, type[6:-1], form[6:], depth + 1) ~ '), ' ~ text
            ~ ' -> coalesce(concat(char_length(' ~ text ~ "), ':', " ~ text ~ ", ';'), 'N;'))), if(" ~ value
                ~ " is null, null, ']'))"
        ) }}
    {%- elif form == 'decimal' and type == 'string' -%}
        {%- set plain = 'upper(' ~ value ~ ')' -%}
        {{ return('if(' ~ plain ~ " like '%.%', trim(trailing '.' from trim(trailing '0' from " ~ plain
            ~ ')), ' ~ plain ~ ')') }}
    {%- elif form == 'decimal' and type.startswith('decimal') -%}
        {%- set text = tidemark.canonical_text_expr(value, type) -%}
        {%- set scale = type.split(',')[1].rstrip(')') | int if ',' in type else 0 -%}
        {%- if scale <= 6 -%}{{ return(text) }}{%- endif -%}
        {%- set x = 'x' ~ depth -%}
        {{ return(tidemark._let(x, text,
            'if(' ~ x ~ " like '%E-%', concat(if(" ~ x
            ~ " like '-%', '-0.', '0.'), repeat('0', int(split_part("
            ~ x ~ ", 'E-', 2)) - 1), translate(split_part(" ~ x ~ ", 'E-', 1), '-.', '')), " ~ x ~ ')')) }}
    {%- elif form == 'timestamp' and type.startswith('timestamp_ntz') -%}
        {{ return("cast(timestampdiff(microsecond, timestamp_ntz'1970-01-01 00:00:00', " ~ value
            ~ ') as string)') }}
    {%- elif form == 'bytes' and type == 'string' -%}
        {{ return('upper(' ~ value ~ ')') }}
    {%- endif -%}
    {{ return(tidemark.canonical_text_expr(value, type)) }}
{%- endmacro -%}
