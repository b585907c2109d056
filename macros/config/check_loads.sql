{#- Stop before anything is done where the adapter reads what Tidemark made and does not load it. -#}
{%- macro check_loads(name) -%}
    {%- if not tidemark.can('load') -%}
        {%- do tidemark.raise_error('configuration',
            name ~ ': plain `type: spark` reads the tables of Tidemark, but does not load them. Write '
                ~ '`type: tidemark` in the profile '
            ~ '(method: thrift for a Thrift server)'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
