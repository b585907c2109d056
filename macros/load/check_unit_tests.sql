{#- `dbt build` loads a model only where its unit tests pass, as it does with dbt's own. -#}
{%- macro check_unit_tests(node) -%}
    {%- set settings = (node['config'].get('meta') or {}).get('tidemark') or {} -%}
    {%- if settings.get('unit_tests') and tidemark.runs_unit_tests() -%}
        {%- do adapter.call_function(
            'tidemark.unit_tests.before_build.check_before_build', invocation_id, node['unique_id'],
            node['alias'], selected_resources) -%}
    {%- endif -%}
{%- endmacro -%}
