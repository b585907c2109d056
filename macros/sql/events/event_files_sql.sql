{#-
    The files of a landing folder that are to be read, in name order: those that no commit has read to the end and
    those that changed since. A file keeps the number that it was first read under (`_file_number`, NULL for a new one);
    `_last_number` is the greatest that was given, or -1. What the commits `undone` had read counts as not read.
-#}
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

read_before as (
    select
        _file,
        max(_file_number) as _file_number,
        max_by(struct(_is_whole, _file_size, _file_time), _commit_id)
        {%- if undone %} filter (where _commit_id not in ({{ undone | join(', ') }})){% endif %} as _last
    from {{ landed }}
    group by _file
)

select
    present.*,
    read_before._file_number,
    coalesce((select max(numbered._file_number) from read_before as numbered), -1) as _last_number
from present
left join read_before on present._file = read_before._file
where
    read_before._last is null
    or not read_before._last._is_whole
    or read_before._last._file_size <> present._file_size
    or read_before._last._file_time <> present._file_time
order by present._file asc nulls last
{%- else %}

select
    *,
    cast(null as bigint) as _file_number,
    cast(-1 as bigint) as _last_number
from present
order by _file asc nulls last
{%- endif %}
{%- endmacro -%}


{#- Files that these commits read and that are not in the folder any more. -#}
{%- macro files_gone_sql(landed, location, commit_ids) -%}
select distinct landed._file
from {{ landed }} as landed
left anti join (
    {{ tidemark.event_files_sql(location, none) | indent(4) }}
) as present on landed._file = present._file
where landed._commit_id in ({{ commit_ids | join(', ') }})
order by landed._file asc nulls last
{%- endmacro -%}


{#- The rows of these files as Spark reads them: to be cached, because `_row` numbers them within this one read. -#}
{%- macro event_lines_view_sql(view, location, files, format) -%}
{%- set paths = [] -%}
{%- for file in files -%}
    {%- do paths.append(tidemark.string_literal(file['_file'])) -%}
{%- endfor -%}
create or replace temporary view {{ view }} as
select
    *,
    _metadata.file_path as _file,
    _metadata.file_block_start as _block,
    monotonically_increasing_id() as _row
from {{ format }}.{{ tidemark.quote_identifier(location) }}
where _metadata.file_path in ({{ paths | join(', ') }})
{%- endmacro -%}


{#-
    The same rows in landing order: `_sequence_num` is the file's number (32 bits) and the line's, so that it rises with
    files in name order and lines in file order, and stays the same when a file is read again.
-#}
{%- macro landed_lines_view_sql(view, lines, files) -%}
{%- set numbers = [] -%}
{%- for file in files -%}
    {%- do numbers.append('(' ~ tidemark.string_literal(file['_file']) ~ ', ' ~ file['_file_number'] ~ ')') -%}
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
        files._file_number * 4294967296 + 1 - split_lines._first_row + coalesce(sum(split_lines._line_count) over (
            partition by split_lines._file
            order by split_lines._block asc nulls last
            rows between unbounded preceding and 1 preceding
        ), 0) as _offset_of_rows
    from split_lines
    inner join (values {{ numbers | join(', ') }}) as files (_file, _file_number) on split_lines._file = files._file
)

select /*+ broadcast(split_starts) */
    lines.* except (_block, _row),
    cast(split_starts._offset_of_rows + lines._row as bigint) as _landing_num
from {{ lines }} as lines
inner join split_starts on lines._file = split_starts._file and lines._block = split_starts._block
{%- endmacro -%}
