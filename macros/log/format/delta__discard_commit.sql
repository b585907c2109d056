{#- Take the rows of one commit away from a side relation. -#}
{%- macro delta__discard_commit(relation, commit_id) -%}
    {{ return(['delete from ' ~ relation ~ ' where _commit_id = ' ~ commit_id]) }}
{%- endmacro -%}
