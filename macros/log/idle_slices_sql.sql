{#- The names of slices whose files are a day older than that of `now`. -#}
{%- macro idle_slices_sql(slices, now) -%}
{%- set times = [] -%}
{%- for slice in slices -%}
    {%- do times.append('select ' ~ tidemark.string_literal(slice.identifier)
        ~ ' as slice_name, max(_metadata.file_modification_time) as written_at from ' ~ slice) -%}
{%- endfor -%}
select slice_name
from (
    {{ times | join('\n    union all\n    ') }}
)
cross join (select max(_metadata.file_modification_time) as this_moment from {{ now }})
where coalesce(written_at < this_moment - interval 1 day, true)
{%- endmacro -%}
