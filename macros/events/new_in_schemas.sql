{#-
    Columns with a default that are new at the source, each with the number of the first event that has it: where no DDL events
    come (PostgreSQL), the inline schemas show that, and the rows that were there before hold the default. A column that came
    before, and is taken from now on alone, has values there which nobody has told us; so has one whose first events come again.
-#}
{%- macro new_in_schemas(plan, batch, recorded) -%}
    {%- set told = ((recorded or {}).get('source') or {}).get('told') -%}
    {%- set found, reads_again = [], batch.get('line_num', '_landing_num') != '_landing_num' -%}
    {%- for column in plan['columns'] if column['default'] is not none -%}
        {%- set sources = column['sources'] | map('lower') | list -%}
        {%- set with_it, without = [], [] -%}
        {%- for schema_id, fields in batch['schemas'].items() -%}
            {%- set has_it = fields | map(attribute='name') | map('lower') | select('in', sources) | list | length > 0 -%}
            {%- do (with_it if has_it else without).append(batch['first_nums'][schema_id]) -%}
        {%- endfor -%}
        {#- Of lines that are read again nothing tells here whether their column was new then. -#}
        {%- set may_be_known = reads_again and column['recorded_type'] is not none -%}
        {%- set is_new = with_it and without and without | min < with_it | min and not may_be_known -%}
        {%- if recorded and told is not none -%}
            {%- set is_new = with_it and not sources | select('in', told) | list -%}
        {%- elif recorded and not is_new -%}
            {#- a log whose last commit does not say what has come -#}
            {%- set is_new = with_it and column['recorded_type'] is none and not sources | select('in', recorded.get('excluded') or []) | list -%}
        {%- endif -%}
        {%- if is_new -%}{%- do found.append((column, with_it | min)) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- Names, lower case, of all columns that have come up to a batch, whether there are columns of the target for them or not. -#}
{%- macro told_names(batch, recorded) -%}
    {%- set recorded = recorded or {} -%}
    {%- set before = (recorded.get('source') or {}).get('told') -%}
    {%- set known = recorded.get('columns', []) | map(attribute='name') | list + (recorded.get('excluded') or []) -%}
    {%- set names = (known if before is none else before) + batch['names'] -%}
    {%- for fields in batch['schemas'].values() -%}
        {%- do names.extend(fields | map(attribute='name')) -%}
    {%- endfor -%}
    {{ return(names | map('lower') | unique | sort) }}
{%- endmacro -%}
