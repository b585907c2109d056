{#- The place of a log row in the order of its key: its sequence, then what breaks ties: see place_expr().
    What concerns the whole table comes before rows, then deletes, then the end of a snapshot. -#}
{%- macro event_order_expr(cfg, alias=none) -%}
    {%- set at = alias ~ '.' if alias else '' -%}
    {%- set tie = 'case when ' ~ at ~ "_source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when "
        ~ at ~ "_source_operation in ('DELETE', 'MOVE_OUT') then 2 when " ~ at
            ~ "_source_operation = 'SNAPSHOT' then 3 else 1 end" -%}
    {{ return(tidemark.place_expr(cfg, tidemark.sequence_expr(cfg, alias), tie, at ~ '_event_id',
        [at ~ '_batch_id', at ~ '_sequence_num'])) }}
{%- endmacro -%}

{#- What events are ordered by, before ties are broken. -#}
{%- macro sequence_expr(cfg, alias=none) -%}
    {{ return((alias ~ '.' if alias else '') ~ ('_sequence_by' if cfg['sequence_by'] else '_sequence_num')) }}
{%- endmacro -%}

{#- What events are ordered by, so that every engine compares it alike: NULL is the least, and of NULL within
    a struct they think differently. A row that was adopted has none. -#}
{%- macro comparable_expr(cfg, sequence) -%}
    {%- if not cfg['sequence_by'] -%}
        {{ return('coalesce(' ~ sequence ~ ', -9223372036854775807)') }}
    {%- endif -%}
    {%- set names, fields = ['is_stream', 'position', 'supplied_num'],
        [sequence ~ ' is not null as is_told'] -%}
    {%- for name in tidemark._sequence_names(cfg) + names -%}
        {%- set field = sequence ~ '.' ~ name -%}
        {%- do fields.append(field ~ ' is not null as has_' ~ name ~ ', ' ~ field ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {{ return('struct(' ~ fields | join(', ') ~ ')') }}
{%- endmacro -%}

{#- The members of `_sequence_by` that a setting makes; of roles, `sequence_by` is their number. -#}
{%- macro _sequence_names(cfg) -%}
    {%- set given, names = cfg['sequence_by'], [] -%}
    {%- for number in range(given if given is integer else given | length) -%}{%- do names.append('sequence_'
        ~ (number + 1)) -%}{%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- A place in the order of a key. At an equal sequence the arrival decides: the batch that an event first
    came with, and its line (`arrival`); then the kind (`tie`) and the identity. With `on_tie: content` these
    two alone, whatever arrived first. Without `arrival` the place is before all that arrived. -#}
{%- macro place_expr(cfg, sequence, tie, event, arrival=['null', 'null']) -%}
    {%- set before_all = ', -9223372036854775807)' -%}
    {%- set arrived = '' if cfg['on_tie'] == 'content'
        else ', coalesce(cast(' ~ arrival[0] ~ ' as bigint)' ~ before_all ~ ' as batch, coalesce(cast('
        ~ arrival[1] ~ ' as bigint)' ~ before_all ~ ' as line' -%}
    {{ return('struct(' ~ tidemark.comparable_expr(cfg, sequence) ~ ' as sequence' ~ arrived ~ ', ' ~ tie
        ~ ' as tie, coalesce(' ~ event ~ ", '') as event)") }}
{%- endmacro -%}
