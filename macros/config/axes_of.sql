{#- The axes of the intervals that scd2() is asked for, or else of the table that is being compiled, as a
    list: of business dates alone, or of commits too. -#}
{%- macro axes_of(axes=none) -%}
    {%- set known = [['business'], ['business', 'system']] -%}
    {%- set found = axes if axes is not none else tidemark.own_axes() -%}
    {%- set found = [found] if found is string else found -%}
    {%- if execute and found is not none and found not in known -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.scd2: axes must be [business] or [business, system], found: '
            ~ (found | join(', ') if found is sequence else found)) -%}
    {%- endif -%}
    {{ return(found or known[0]) }}
{%- endmacro -%}

{#- The axes in the settings of the model that is being compiled, if it keeps intervals. -#}
{%- macro own_axes() -%}
    {%- if model is not defined or (model.get('config') or {}).get('materialized') != 'scd2' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set settings = (model['config'].get('meta') or {}).get('tidemark') -%}
    {{ return(settings.get('axes') if settings is mapping else none) }}
{%- endmacro -%}
