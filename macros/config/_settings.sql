{#- Helpers of the configuration readers. Only files of this folder read `config` and `var`. -#}

{#- The dict under `meta.tidemark`; every name it does not know becomes an error. -#}
{%- macro _settings(config, known, errors) -%}
    {%- set settings = (config.get('meta') or {}).get('tidemark', {}) -%}
    {%- if settings is not mapping -%}
        {%- do errors.append("meta.tidemark must be a mapping of settings, found: " ~ settings) -%}
        {{ return({}) }}
    {%- endif -%}
    {%- for name in settings -%}
        {%- if name not in known -%}
            {%- do errors.append("meta.tidemark." ~ name ~ " is not a setting" ~ tidemark._did_you_mean(name, known)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(settings) }}
{%- endmacro -%}


{#- ", did you mean `extract`?" for the known name that shares most letter pairs, else the list of names. -#}
{%- macro _did_you_mean(name, known) -%}
    {%- set wanted = tidemark._letter_pairs(name | string | lower) -%}
    {%- set best = namespace(name=none, score=0.0) -%}
    {%- for candidate in known -%}
        {%- set pairs = tidemark._letter_pairs(candidate) -%}
        {%- set common = pairs | select('in', wanted) | list | length -%}
        {%- set score = 2.0 * common / (wanted | length + pairs | length) -%}
        {%- if score > best.score -%}
            {%- set best.name = candidate -%}
            {%- set best.score = score -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if best.score >= 0.4 -%}
        {{ return("; did you mean `" ~ best.name ~ "`?") }}
    {%- endif -%}
    {{ return("; allowed: " ~ known | sort | join(', ')) }}
{%- endmacro -%}


{%- macro _letter_pairs(word) -%}
    {%- set framed = ' ' ~ word ~ ' ' -%}
    {%- set pairs = [] -%}
    {%- for i in range(framed | length - 1) -%}
        {%- do pairs.append(framed[i:i + 2]) -%}
    {%- endfor -%}
    {{ return(pairs) }}
{%- endmacro -%}


{#- A string becomes a list of one, none becomes an empty list. -#}
{%- macro _as_list(value, name, errors) -%}
    {%- if value is none or value == '' -%}
        {{ return([]) }}
    {%- elif value is string -%}
        {{ return([value]) }}
    {%- elif value is mapping or value is not sequence -%}
        {%- do errors.append(name ~ " must be a name or a list of names, found: " ~ value) -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return(value | list) }}
{%- endmacro -%}


{%- macro _as_bool(value, name, errors) -%}
    {%- if value is boolean -%}
        {{ return(value) }}
    {%- elif value is string and value | lower in ['true', 'false'] -%}
        {{ return(value | lower == 'true') }}
    {%- endif -%}
    {%- do errors.append(name ~ " must be true or false, found: " ~ value) -%}
    {{ return(false) }}
{%- endmacro -%}


{%- macro _one_of(name, value, allowed, errors) -%}
    {%- if value not in allowed -%}
        {%- set hint = tidemark._did_you_mean(value, allowed) if value is string and value else '' -%}
        {%- set found = 'missing' if value is none else 'found: ' ~ value -%}
        {%- do errors.append(
            name ~ ' must be one of ' ~ allowed | join(', ') ~ ' (' ~ found ~ ')'
            ~ (hint if hint.startswith('; did') else '')
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Raise every problem that was found, at once. -#}
{%- macro _raise_config_errors(entity, errors) -%}
    {%- if errors -%}
        {%- do exceptions.raise_compiler_error(
            entity ~ ': the configuration has ' ~ errors | length
            ~ (' problem' if errors | length == 1 else ' problems') ~ '\n  - ' ~ errors | join('\n  - ')
        ) -%}
    {%- endif -%}
{%- endmacro -%}
