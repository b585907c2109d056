{#- Let columns (quoted names to types) of a Delta table take wider values. The table gets the feature for
    that now: a reader that lacks it, such as delta-rs, can read every table in which nothing was ever
    widened. -#}
{%- macro delta__widen_columns(relation, types) -%}
    {{ return(
        ["alter table " ~ relation ~ " set tblproperties ('delta.enableTypeWidening' = 'true')"]
            + tidemark.iceberg__widen_columns(relation, types)
    ) }}
{%- endmacro -%}
