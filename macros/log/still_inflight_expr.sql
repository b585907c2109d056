{#- Whether nobody has taken over the commit that is being written, or rolled it back. -#}
{%- macro still_inflight_expr(load) -%}
    {{ return("(select count(*) from " ~ load['states'] ~ " where relation = " ~ tidemark.string_literal(load['relation']) ~ " and commit_id = " ~ load['commit_id']
        ~ " and (state = 'rolled_back' or details is not null)) = 0") }}
{%- endmacro -%}
