{#- Say that keys came again which had been erased; what the run's line says of it. -#}
{%- macro tell_erased_back(opened, commit) -%}
    {%- if not opened['state'].get('has_erased') -%}{{ return([]) }}{%- endif -%}
    {%- set marks = [] -%}
    {%- for row in tidemark.query_rows(tidemark.completed_erases_sql(opened['commits']['states'], opened['cfg']['relation'])) -%}
        {%- do marks.extend(tidemark.marks_of(row)) -%}
    {%- endfor -%}
    {%- set back = run_query(tidemark.erased_keys_back_sql(tidemark.write_relations(opened)['log'], commit['commit_id'], marks | unique | list))[0][0] | int if marks else 0 -%}
    {%- if not back -%}{{ return([]) }}{%- endif -%}
    {%- set told = '1 erased key is back' if back == 1 else back ~ ' erased keys are back' -%}
    {%- do tidemark.warn(opened['cfg']['entity'], told ~ ' by commit ' ~ commit['commit_id'] ~ ': what was read still has '
        ~ ('it' if back == 1 else 'them') ~ '. Take it out of the source, and erase again') -%}
    {{ return([told]) }}
{%- endmacro -%}
