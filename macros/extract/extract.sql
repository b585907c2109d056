{#- The extract of the run's business date as a SELECT, for the body of a `materialized: cdc` model with a
    `location`. It names a view that the materialization makes from location, format, options and columns just
    before it stages the rows; a missing file or date is an error of the run, so that compile and docs work
    without either. -#}
{%- macro extract() -%}
select * from {{ tidemark.run_view(this, 'extract') }}
{%- endmacro -%}

{#- The same for an operation, which compiles no model. -#}
{%- macro extract_sql(cfg) -%}
select * from {{ tidemark.run_view(cfg['target'], 'extract') }}
{%- endmacro -%}
