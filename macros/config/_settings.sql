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


{#- A length of time such as `30 days`; none keeps everything. -#}
{%- macro _retention(value, name, errors) -%}
    {%- set text = value | string | trim | lower -%}
    {%- if value is none or text == 'none' -%}{{ return(none) }}{%- endif -%}
    {%- if not modules.re.fullmatch('[0-9]{1,6} (minute|hour|day|week|month|year)s?', text) -%}
        {%- do errors.append(name ~ " must be a length of time such as '30 days' or '12 hours', or none to keep all, found: " ~ value) -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(text) }}
{%- endmacro -%}


{#- How long each kind of what an entity wrote is kept; only change events have a staging. -#}
{%- macro _retentions(settings, errors) -%}
    {%- set retentions = {} -%}
    {%- for name in ['feed', 'superseded', 'history', 'rejects'] + (['staging'] if settings.get('extract') == 'events' else []) -%}
        {%- do retentions.update({name: tidemark._retention(settings.get(name ~ '_retention'), name ~ '_retention', errors)}) -%}
    {%- endfor -%}
    {{ return(retentions) }}
{%- endmacro -%}


{#- Rules about retention that look at more than one setting. -#}
{%- macro _check_retentions(cfg, retentions, errors) -%}
    {%- for name in ['superseded', 'history'] if retentions.get(name) and cfg['file_format'] == 'parquet' -%}
        {%- do errors.append(name ~ '_retention needs file_format: delta: the slices of a Parquet log never change') -%}
    {%- endfor -%}
    {%- if retentions.get('history') and not cfg['keys'] -%}
        {%- do errors.append('history_retention needs unique_key: the rows of a table without key are counted from its first event') -%}
    {%- endif -%}
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
