{#- The secret that sensitive values are hashed with. Spark puts in the environment variable when it parses
    the statement, so the secret stands neither in compiled SQL nor in dbt's log. An unset variable stays as
    it is written here: check that it is set before the first statement. -#}
{%- macro pepper_expr() -%}
    {{ return("'${env:TIDEMARK_PEPPER}'") }}
{%- endmacro -%}
