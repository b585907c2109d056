{#- The files of a landing folder that are to be read, in name order: those that no commit has read to the end
    and those that changed since. A file keeps the number that it was first read under (`_file_number`, NULL
    for a new one), which its lines are known by; `_last_number` is the greatest that was given, or -1. What
    the commits `undone`, which were rolled back, had read counts as not read: `_owed_number` is the one under
    which it was read first of what is owed again, by those or as it was read in part; NULL of a file that is
    new, or that has changed since all of it was read. -#}
{%- macro event_files_sql(location, landed, undone=[]) -%}
with present as (
    select
        _metadata.file_path as _file,
        _metadata.file_size as _file_size,
        _metadata.file_modification_time as _file_time
    from binaryfile.{{ tidemark.quote_identifier(location) }}
    where not endswith(_metadata.file_name, '.tmp')
)
{%- if landed %},

present_and_landed as (
    select
        *,
        cast(null as bigint) as _file_number,
        cast(null as struct<_is_whole: boolean, _file_size: bigint, _file_time: timestamp,
            _file_number: bigint>) as _read_before,
        cast(null as bigint) as _commit_id
    from present
    union all
    select
        {{ tidemark.landed_file() }},
        cast(null as bigint),
        cast(null as timestamp),
        _file_number,
        {{ 'if(_commit_id in (' ~ undone | join(', ')
            ~ '), null, struct(_is_whole, _file_size, _file_time, _file_number))' if undone
            else 'struct(_is_whole, _file_size, _file_time, _file_number)' }},
        _commit_id
    from {{ landed }}
),

files as (
    select
        _file,
        max(_file_size) as _file_size,
        max(_file_time) as _file_time,
        min(_file_number) as _file_number,
        coalesce(max(max(_file_number)) over (), -1) as _last_number,
        max_by(_read_before, if(_read_before is null, null, _commit_id)) as _last,
        collect_list(_file_number) as _numbers
    from present_and_landed
    group by _file
)

select
    _file,
    _file_size,
    unix_micros(_file_time) as _file_micros,
    _file_number,
    _last_number,
    coalesce(
        array_min(filter(_numbers, number -> number > coalesce(_last._file_number, -1))),
        if(_last._is_whole, null, _last._file_number)
    ) as _owed_number
from files
where
    _file_size is not null
    and (_last is null or not _last._is_whole or _last._file_size <> _file_size
        or _last._file_time <> _file_time)
order by _file asc nulls last
{%- else %}

select
    _file,
    _file_size,
    unix_micros(_file_time) as _file_micros,
    cast(null as bigint) as _file_number,
    cast(-1 as bigint) as _last_number,
    cast(null as bigint) as _owed_number
from present
order by _file asc nulls last
{%- endif %}
{%- endmacro -%}

{#- Files that these commits read and that are not in the folder any more. -#}
{%- macro files_gone_sql(landed, location, commit_ids) -%}
select distinct landed.{{ tidemark.landed_file() }}
from {{ landed }} as landed
left anti join (
    {{ tidemark.event_files_sql(location, none) | indent(4) }}
) as present on landed.{{ tidemark.landed_file() }} = present._file
where landed._commit_id in ({{ commit_ids | join(', ') }})
order by landed.{{ tidemark.landed_file() }} asc nulls last
{%- endmacro -%}

{#- The rows of these files as Spark reads them: to be cached, because `_row` numbers them within this one
    read. -#}
{%- macro event_lines_sql(location, files, is_parquet=false) -%}
select
    *,
    _metadata.file_path as _file,
    _metadata.file_block_start as _block,
    monotonically_increasing_id() as _row
from {{ 'parquet' if is_parquet
    else 'text' }}.{{ tidemark.quote_identifier(location) }}{{ " with ('mergeSchema' 'true')" if is_parquet }}
where _metadata.file_path in ({{ tidemark.string_literals(files | map(attribute='_file')) }})
{%- endmacro -%}

{#- Whether one of these files was read before. -#}
{%- macro files_read_again(files) -%}
    {%- for file in files if file['_arrival_number'] != file['_file_number'] -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- What a line is known by, as an expression of `_landing_num`: with the number that its file was first read
    under, whatever the file arrives with now. A model that names its columns passes on the one number; both
    are in it. Files arrive with numbers without gap. -#}
{%- macro line_num_expr(files) -%}
    {%- if not tidemark.files_read_again(files) -%}{{ return('_landing_num') }}{%- endif -%}
    {%- set later = [] -%}
    {%- for file in files | sort(attribute='_arrival_number') -%}
        {%- do later.append(file['_arrival_number'] - file['_file_number']) -%}
    {%- endfor -%}
    {%- set place = 'cast(shiftright(_landing_num, 32) - ' ~ files | map(attribute='_arrival_number') | min
        ~ ' as int)' -%}
    {{ return('(_landing_num - coalesce(get(array(' ~ later | join(', ') ~ '), ' ~ place
        ~ '), 0) * 4294967296)') }}
{%- endmacro -%}

{#- The same rows numbered: `_landing_num` is the number that the file arrives with (32 bits) and the line's,
    so that it rises with files in the order in which they are read and lines in file order; a file that is
    read again comes after all that was read before. -#}
{%- macro landed_lines_view_sql(view, lines, files) -%}
{%- set numbers = [] -%}
{%- for file in files -%}
    {%- do numbers.append('(' ~ tidemark.string_literal(file['_file']) ~ ', ' ~ file['_arrival_number']
        ~ ')') -%}
{%- endfor -%}
create or replace temporary view {{ view }} as
with split_lines as (
    select
        _file,
        _block,
        min(_row) as _first_row,
        count(*) as _line_count
    from {{ lines }}
    group by _file, _block
),

split_starts as (
    select
        split_lines._file,
        split_lines._block,
        files._file_number * 4294967296 + 1 - split_lines._first_row + coalesce(sum(split_lines._line_count)
            over (
            partition by split_lines._file
            order by split_lines._block asc nulls last
            rows between unbounded preceding and 1 preceding
        ), 0) as _offset_of_rows
    from split_lines
    inner join (values {{ numbers | join(', ') }}) as files (_file, _file_number)
        on split_lines._file = files._file
)

select /*+ broadcast(split_starts) */
    lines.* except (_block, _row),
    cast(split_starts._offset_of_rows + lines._row as bigint) as _landing_num
from {{ lines }} as lines
inner join split_starts on lines._file = split_starts._file and lines._block = split_starts._block
{%- endmacro -%}
