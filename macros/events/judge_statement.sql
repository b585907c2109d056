{#- What becomes of a statement by policy, told in it and in the batch. -#}
{%- macro judge_statement(cfg, batch, statement, said, before) -%}
    {%- set judged = adapter.call_function('tidemark.rules.statements.judge_statement', cfg, batch, statement, said, before) -%}
    {%- do batch.update(judged['batch']) -%}
    {%- do statement.update(judged['statement']) -%}
{%- endmacro -%}
