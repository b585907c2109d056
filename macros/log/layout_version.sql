{#- The layout of the tables that this release makes: what they are called and what their columns mean. It
    rises where a release before could not go on with them, or would do it wrong. Tables from before there was
    a number have 0, and the layout of 1. -#}
{%- macro layout_version() -%}
    {{ return(1) }}
{%- endmacro -%}

{#- The property that tells a table's layout. -#}
{%- macro layout_properties() -%}
    {{ return({'tidemark.layout': tidemark.layout_version()}) }}
{%- endmacro -%}

{#- The statements that bring a table from an older layout to this one, the last of which marks it: whoever
    dies before it begins anew, so each must be one that can be run again. A step that changes rows is to be
    one commit that sets the property as well. -#}
{%- macro migrate_layout_sql(relation, found) -%}
    {{ return(['alter table ' ~ relation ~ ' set tblproperties ('
        ~ tidemark.properties_expr(tidemark.layout_properties()) ~ ')']
        if found < tidemark.layout_version() else []) }}
{%- endmacro -%}
