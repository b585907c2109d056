{#- Whether nobody has taken over the commit that is being written, or rolled it back; and of a log that is
    there, whether no commit that is to take its place has come since the last one which this load knows. -#}
{%- macro still_inflight_expr(load) -%}
    {%- set own = 'commit_id = ' ~ load['commit_id'] -%}
    {%- set counted, chosen = 'count(*)', own ~ " and (state = 'rolled_back' or details is not null)" -%}
    {%- if load.get('last_commit_id') -%}
        {%- set other = 'commit_id <> ' ~ load['commit_id'] -%}
        {%- set chosen = '(' ~ chosen ~ ' or ' ~ other ~ ' and commit_id > ' ~ load['last_commit_id']
            ~ " and kind in (" ~ tidemark.replacing_kinds() ~ "))" -%}
        {%- set counted = 'count_if(' ~ own ~ ')'
            ~ ' + count(distinct if(' ~ other ~ " and state <> 'rolled_back', commit_id, null))"
            ~ ' - count(distinct if(' ~ other ~ " and state = 'rolled_back', commit_id, null))" -%}
    {%- endif -%}
    {{ return('(select ' ~ counted ~ ' from ' ~ load['states'] ~ ' where relation = '
        ~ tidemark.string_literal(load['relation']) ~ ' and ' ~ chosen ~ ') = 0') }}
{%- endmacro -%}
