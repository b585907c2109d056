{#- The location of one business date's extract; `{yyyy}`, `{mm}` and `{dd}` serve folders by year, month and
    day. -#}
{%- macro extract_path(location, business_date) -%}
    {%- set year, month, day = (business_date or '--').split('-') -%}
    {{ return(
        location | replace('{business_date}', business_date or '') | replace('{yyyy}', year)
        | replace('{mm}', month) | replace('{dd}', day)
    ) }}
{%- endmacro -%}
