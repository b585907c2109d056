{#- Let columns of a Delta table be renamed, dropped and called anything: the table maps their names to those
    in its files, which stay what they are. Only when that is first asked for, as readers that map none would
    see NULL. -#}
{%- macro delta__map_columns(relation) -%}
    {{ return(['alter table ' ~ relation ~ ' set tblproperties ('
        ~ tidemark.properties_expr(tidemark.delta__mapping_properties()) ~ ')']) }}
{%- endmacro -%}

{#- What has a Delta table map names. The second feature, which every reader has, is one that the protocol
    names features for: by that readers that map none refuse the table (delta-rs to pyarrow). By a number
    alone, 2, they do not. -#}
{%- macro delta__mapping_properties() -%}
    {{ return({'delta.columnMapping.mode': 'name', 'delta.feature.timestampNtz': 'supported'}) }}
{%- endmacro -%}

{#- What a Delta table is to be made with for the names of its columns. -#}
{%- macro delta__name_properties(columns) -%}
    {{ return(tidemark.delta__mapping_properties() if tidemark.has_odd_names(columns) else {}) }}
{%- endmacro -%}

{#- Whether one of these columns, or a field in one, has a name that a Delta table maps or refuses. -#}
{%- macro has_odd_names(columns) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- for column in columns if '<' in column['type'] -%}
        {%- do names.extend(modules.re.findall('`((?:[^`]|``)*)`', tidemark.quoted_type(column['type']))) -%}
    {%- endfor -%}
    {{ return(modules.re.search('[ ,;{}()\n\t=]', names | join('')) is not none) }}
{%- endmacro -%}
