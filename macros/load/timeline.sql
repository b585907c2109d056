{#- Record that commits are undone by a rollback, or hold again. Doing it twice changes nothing. -#}
{%- macro mark_undone(cfg, commits, commit) -%}
    {%- set steps = tidemark.steps_of_rollback(commits, commit) -%}
    {%- do tidemark.record_undone(
        cfg, commits, commit, steps['undone'] | map(attribute='commit_id') | list, steps['redone'] | map(attribute='commit_id') | list
    ) -%}
    {{ return(steps) }}
{%- endmacro -%}

{#- Append these states of commits. A statement that reads the table it appends to is refused where another one has just done the same:
    so the rows are read first. -#}
{%- macro record_undone(cfg, commits, commit, undone, redone) -%}
    {%- if not undone and not redone -%}{{ return(none) }}{%- endif -%}
    {#- this process may have been interrupted here before -#}
    {%- do tidemark.drop_slices(cfg['target']) -%}
    {%- set sql = tidemark.undone_states_sql(commits['states'], commit, undone, redone) -%}
    {%- set slice = tidemark.make_slice(cfg['target'], commit['commit_id'], 'states', sql) -%}
    {%- do run_query(tidemark.insert_sql(commits['states'], tidemark.commit_columns(), 'select * from ' ~ slice)) -%}
    {%- do tidemark.drop_table(slice) -%}
{%- endmacro -%}

{#- What a rollback that is recorded undoes and makes hold again. -#}
{%- macro steps_of_rollback(commits, commit) -%}
    {{ return(tidemark.steps_to(tidemark.timeline(commits, commit['relation'], before=commit['commit_id']), commit['source_commit_id'])) }}
{%- endmacro -%}

{#- The commits of an entity that took effect, in order; at most one row per commit. -#}
{%- macro timeline(commits, relation, before=none) -%}
    {{ return(tidemark.query_rows(tidemark.timeline_sql(commits['states'], relation, before))) }}
{%- endmacro -%}

{#- What going from the last commit of a timeline to `target` undoes and makes hold again, and what is loaded then. -#}
{%- macro steps_to(timeline, target) -%}
    {{ return(adapter.call_function('tidemark.rules.timeline.steps_to', timeline, target)) }}
{%- endmacro -%}
