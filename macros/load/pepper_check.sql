{#- The first digits of a digest of the pepper, by which a later run notices that it has another one; an error without pepper, or with one
    that a string literal does not hold as it stands. A quote in it ends the literal, and Spark's message shows what follows: so the
    adapter looks before there is a statement. -#}
{%- macro pepper_check(cfg) -%}
    {%- if tidemark.can('know_pepper') -%}{%- do adapter.call_function('tidemark.hashing.rows.check_pepper') -%}{%- endif -%}
    {%- set row = tidemark.query_rows(
        'select ' ~ tidemark.pepper_expr() ~ " = '' or " ~ tidemark.pepper_expr() ~ " like '$%env:%' as missing, r" ~ tidemark.pepper_expr() ~ ' <> ' ~ tidemark.pepper_expr() ~ " as is_escaped, "
        ~ "substr(sha2(concat('tidemark pepper:', " ~ tidemark.pepper_expr() ~ '), 256), 1, 8) as digest'
    )[0] -%}
    {%- if row['missing'] -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': sensitive columns need the environment variable TIDEMARK_PEPPER, a secret that stays the '
            ~ 'same for the life of the tables (for example: export TIDEMARK_PEPPER=$(openssl rand -hex 32))'
        ) -%}
    {%- elif row['is_escaped'] -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': TIDEMARK_PEPPER must not hold quotes, backslashes, control characters or ${, as Spark puts it into a string literal'
        ) -%}
    {%- endif -%}
    {{ return(row['digest']) }}
{%- endmacro -%}

{#- What a commit records of the pepper, where there are sensitive columns. -#}
{%- macro pepper_of(cfg, plan) -%}
    {{ return({'pepper': tidemark.pepper_check(cfg)} if plan['sensitive'] else {}) }}
{%- endmacro -%}
