{#- A text that is none of the sequence's type would be NULL, and nothing had come by then. -#}
{%- macro check_sequence(relation, date, flow) -%}
    {%- if flow['sequence_by'] | length > 1 -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.as_of: by sequence needs one column in sequence_by. Use event_time, as there are '
            ~ 'several: ' ~ flow['sequence_by'] | join(', ')) -%}
    {%- elif date is number -%}{{ return(none) }}
    {%- endif -%}
    {%- set type = tidemark.describe_query('select ' ~ tidemark.event_moment_expr(flow, 'sequence')
        ~ ' as moment from ' ~ tidemark.log(relation))[0]['type'] -%}
    {%- if type != 'string'
        and run_query('select try_cast(' ~ tidemark.string_literal(date) ~ ' as ' ~ type
        ~ ') is null')[0][0] -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.as_of: by sequence needs a ' ~ type ~ ", as sequence_by has that type, found: '" ~ date
            ~ "'") -%}
    {%- endif -%}
{%- endmacro -%}
