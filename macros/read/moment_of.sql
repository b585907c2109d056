{#- A moment as {kind, value}: kind is commit, date or timestamp; none stays none. -#}
{%- macro moment_of(value, what) -%}
    {%- if value is none -%}{{ return(none) }}{%- endif -%}
    {%- set text = value | string | trim -%}
    {%- if modules.re.fullmatch('[0-9]{1,18}', text) -%}
        {{ return({'kind': 'commit', 'value': text}) }}
    {%- endif -%}
    {%- if modules.re.fullmatch('[0-9]{4}-[0-9]{2}-[0-9]{2}', text) -%}{{ return({'kind': 'date',
        'value': tidemark._business_date(text, what)}) }}{%- endif -%}
    {%- if modules.re.fullmatch('[0-9]{4}-[0-9]{2}-[0-9]{2}[ '
        ~ 'T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?', text) -%}
        {{ return({'kind': 'timestamp', 'value': text}) }}
    {%- endif -%}
    {%- do tidemark.raise_error('usage',
        what ~ " must be a commit id such as 260304093000123, a business date such as 2026-03-04, or a "
            ~ "timestamp such as '2026-03-04 09:30:00', found: '" ~ text ~ "'"
    ) -%}
{%- endmacro -%}
