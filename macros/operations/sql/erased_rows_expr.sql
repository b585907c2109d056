{#- Whether a row of one of an entity's tables is of the key that is erased: by its hash, by the values of the
    key where the table has all its columns (a log that a rehash or a full refresh left may have other
    hashes), in a staging also by the key that the row had before. `names` are the table's columns, `erased`
    the key: `hashes` and `values`, SQL by column. -#}
{%- macro erased_rows_expr(names, erased) -%}
    {%- set hashes = '(' ~ erased['hashes'] | join(', ') ~ ')' -%}
    {%- set lower = names | map('lower') | list -%}
    {%- set terms = [] -%}
    {%- for name in ['_key_hash', '_before_key_hash'] if name in lower and erased['hashes'] -%}
        {%- do terms.append(name ~ ' in ' ~ hashes) -%}
    {%- endfor -%}
    {%- for prefix in ['', '_before_'] -%}
        {%- set values = [] -%}
        {%- for column, value in erased['values'].items() if prefix ~ column | lower in lower -%}
            {%- do values.append(tidemark.quote_identifier(prefix ~ column) ~ ' <=> ' ~ value) -%}
        {%- endfor -%}
        {%- if values and values | length == erased['values'] | length -%}
            {%- do terms.append('(' ~ values | join(' and ') ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if '_raw_payload' in lower and erased['texts'] -%}
        {#- A payload that could not be read has no key: it goes if it holds every value of the key as a word.
            -#}
        {%- set words = ['_key_hash is null'] -%}
        {%- for text in erased['texts'] -%}
            {%- do words.append("_raw_payload rlike concat('(^|[^\\\\p{L}\\\\p{N}_])', '\\\\Q', " ~ text
                ~ ", '\\\\E', '($|[^\\\\p{L}\\\\p{N}_])')") -%}
        {%- endfor -%}
        {%- do terms.append('(' ~ words | join(' and ') ~ ')') -%}
    {%- endif -%}
    {{ return('coalesce(' ~ terms | join(' or ') ~ ', false)' if terms else 'false') }}
{%- endmacro -%}

{#- The hashes that a key may have in the tables of an entity, one for each algorithm that a rehash can have
    come from, `xxhash64x2` in earlier releases, and what its values look like as text, as one row. NULL is a
    value of a key, but no word to look for. -#}
{%- macro erased_key_sql(columns, values) -%}
select
    {%- for algorithm in ['md5', 'sha256'] %}
    {{ tidemark.row_hash_expr(columns, algorithm, 'key_values') | indent(4) }} as {{ algorithm }},
    {%- endfor %}
    {%- set text = tidemark.row_text_expr(columns, 'key_values') | indent(4) %}
    lower(concat(lpad(hex(xxhash64({{ text }})), 16, '0'),
        lpad(hex(xxhash64('tidemark', {{ text }})), 16, '0'))) as xxhash64x2,
    to_json(array_compact(array(
        {%- for column in columns %}
        cast(key_values.{{ tidemark.quote_identifier(column['name']) }} as string) {{- ',' if not loop.last }}
        {%- endfor %}
    ))) as texts,
    {%- for column in columns %}
    {{ values[column['name']] }} is not null
        and key_values.{{ tidemark.quote_identifier(column['name']) }} is null
            as misfit_{{ loop.index }} {{- ',' if not loop.last }}
    {%- endfor %}
from (
    select
        {%- for column in columns %}
        try_cast({{ values[column['name']] }} as {{ column['type'] }})
            as {{ tidemark.quote_identifier(column['name']) }} {{- ',' if not loop.last }}
        {%- endfor %}
) as key_values
{%- endmacro -%}

{#- Take rows of the key away in one commit. By a MERGE, whose condition names columns: of a DELETE the commit
    would keep the values, for as long as the format keeps what was done. `condition` makes the condition from
    a key as of erased_rows_expr(). -#}
{%- macro erase_rows_sql(relation, erased, condition) -%}
merge into {{ relation }} as stored
using (
    {{ tidemark._erased_key_row_sql(erased) | indent(4) }}
) as tidemark_erased
    on {{ condition }}
when matched then delete
{%- endmacro -%}

{#- Log rows of other keys lose what they say of the erased one: that they had it before. Values that they
    took from it are theirs, so that a late event does not look for them there. -#}
{%- macro forget_moves_sql(log_relation, erased) -%}
merge into {{ log_relation }} as stored
using (
    {{ tidemark._erased_key_row_sql(erased) | indent(4) }}
) as tidemark_erased
    on stored._moved_from in ({{ tidemark.erased_by_name(erased)['hashes'] | join(', ') }})
when matched then update set
    _moved_from = null,
    _unsupplied = null
{%- endmacro -%}

{#- The same key whose SQL are columns of _erased_key_row_sql(). -#}
{%- macro erased_by_name(erased) -%}
    {%- set named = {'hashes': [], 'values': {}, 'texts': []} -%}
    {%- for _ in erased['hashes'] -%}
        {%- do named['hashes'].append('tidemark_erased.hash_' ~ loop.index) -%}
    {%- endfor -%}
    {%- for column in erased['values'] -%}{%- do named['values'].update({column: 'tidemark_erased.value_'
        ~ loop.index}) -%}{%- endfor -%}
    {%- for _ in erased['texts'] -%}
        {%- do named['texts'].append('tidemark_erased.text_' ~ loop.index) -%}
    {%- endfor -%}
    {{ return(named) }}
{%- endmacro -%}

{#- The key as one row. -#}
{%- macro _erased_key_row_sql(erased) -%}
    {%- set columns = [] -%}
    {%- for hash in erased['hashes'] -%}
        {%- do columns.append(hash ~ ' as hash_' ~ loop.index) -%}
    {%- endfor -%}
    {%- for value in erased['values'].values() -%}
        {%- do columns.append(value ~ ' as value_' ~ loop.index) -%}
    {%- endfor -%}
    {%- for text in erased['texts'] -%}
        {%- do columns.append(text ~ ' as text_' ~ loop.index) -%}
    {%- endfor -%}
    {{ return('select\n    ' ~ columns | join(',\n    ')) }}
{%- endmacro -%}

{#- Every derived table with what it was made from, and whether a run of it has read that and no other one of
    that name in another schema. -#}
{%- macro derived_tables_sql(states) -%}
select
    relation,
    source_relation,
    bool_or(size(in_run) = 1) as was_alone
from (
    select
        relation,
        source_relation,
        collect_set(source_relation)
            over (partition by relation, invocation_id, substring_index(source_relation, '.', -1))
            as in_run
    from {{ states }}
    where kind in ('scd2', 'feed') and source_relation is not null
)
group by relation, source_relation
order by relation asc nulls last, source_relation asc nulls last
{%- endmacro -%}
