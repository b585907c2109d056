{#-
    Columns with a default that are new at the source, each with the number of the first event that has it: where no DDL events
    come (PostgreSQL), the inline schemas show that, and the rows that were there before hold the default. A column that the source
    had before, and that is taken from now on alone, has values there which nobody has told us.
-#}
{%- macro new_in_schemas(plan, batch, recorded) -%}
    {%- set seen = ((recorded or {}).get('excluded') or []) + (((recorded or {}).get('source') or {}).get('not_taken') or []) -%}
    {#- Of lines that are read again nothing tells here whether their column was new then. -#}
    {%- set found, reads_again = [], batch.get('arrival', '_landing_num') != '_landing_num' -%}
    {%- for column in plan['columns'] if column['default'] is not none -%}
        {%- set sources = column['sources'] | map('lower') | list -%}
        {%- set with_it, without = [], [] -%}
        {%- for schema_id, fields in batch['schemas'].items() -%}
            {%- set has_it = fields | map(attribute='name') | map('lower') | select('in', sources) | list | length > 0 -%}
            {%- do (with_it if has_it else without).append(batch['first_nums'][schema_id]) -%}
        {%- endfor -%}
        {%- set came_before = not recorded or column['recorded_type'] is not none or sources | select('in', seen) | list | length > 0 -%}
        {%- set comes_now = without and with_it and without | min < with_it | min and not (reads_again and column['recorded_type'] is not none) -%}
        {%- if with_it and (comes_now or not came_before) -%}
            {%- do found.append((column, with_it | min)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- Names, lower case, of columns that inline schemas have told of and that a plan has no column for, up to this batch; those that the
    setting `columns` leaves out are recorded as such. -#}
{%- macro names_not_taken(plan, batch, before) -%}
    {%- set taken = plan['recorded']['columns'] | map(attribute='name') | map('lower') | list + plan['recorded']['excluded'] -%}
    {%- set names = before | list -%}
    {%- for fields in batch['schemas'].values() -%}
        {%- do names.extend(fields | map(attribute='name') | map('lower')) -%}
    {%- endfor -%}
    {{ return(names | unique | reject('in', taken) | sort) }}
{%- endmacro -%}
