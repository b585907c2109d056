{#- The extract of the run's business date as a SELECT, for the body of a `materialized: cdc` model with a
    `location`. It names a view that the materialization makes from location, format, options and columns just
    before it stages the rows; a missing file or date is an error of the run, so that compile and docs work
    without either. A model of another kind is refused, before dbt puts it in the place of the current
    table. -#}
{%- macro extract() -%}
{%- set node = model if execute and model is defined and model.resource_type == 'model' else none -%}
{%- if node and node.config.materialized not in ['cdc', 'atomic'] -%}
    {%- do tidemark.raise_error('configuration',
        node.name ~ ': tidemark.extract() is for materialized: cdc and atomic, and this model is '
        ~ 'materialized: ' ~ node.config.materialized ~ '. Correct its config; tidemark check says more') -%}
{%- endif -%}
select * from {{ tidemark.run_view(this, 'extract') }}
{%- endmacro -%}

{#- The same for an operation, which compiles no model. -#}
{%- macro extract_sql(cfg) -%}
select * from {{ tidemark.run_view(cfg['target'], 'extract') }}
{%- endmacro -%}
