{#- What the log keeps of an event, beside its effect. -#}
{%- macro event_meta_columns(cfg) -%}
    {{ return(
        ['_source_operation', '_event_id', '_sequence_num'] + (['_sequence_by'] if cfg['sequence_by'] else [])
        + ['_event_time', '_transaction_id', '_offset', '_moved_from']
    ) }}
{%- endmacro -%}

{%- macro _meta_list(cfg, operation, moved_from='cast(null as string)') -%}
    {%- set terms = [] -%}
    {%- for name in tidemark.event_meta_columns(cfg) -%}
        {%- set given = {'_source_operation': operation, '_moved_from': moved_from}.get(name) -%}
        {%- do terms.append(given ~ ' as ' ~ name if given else name) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro -%}
