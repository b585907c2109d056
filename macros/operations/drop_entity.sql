{#- Drop all tables of an entity, and forget its commits. What full refreshes and rehashes left goes too: without their commits `clean` would
    keep it for ever. -#}
{%- macro drop_entity(entity) -%}
    {%- do tidemark.check_loads(entity) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- set run = tidemark.run_config() -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set relations = tidemark.side_relations(cfg['target']) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- do tidemark.drop_slices(cfg['target'], 'all') -%}
    {%- do tidemark.clear_slices(cfg['target']) -%}
    {%- do run_query('drop view if exists ' ~ relations['history']) -%}
    {%- do tidemark.drop_plan(cfg['target']) -%}
    {#- Commits go last: without the log they stop a run, which says what is missing. -#}
    {%- for name in ['current', 'staging', 'landed', 'rejects', 'supplied', 'sensitive', 'log'] -%}
        {%- do tidemark.drop_any(relations[name]) -%}
    {%- endfor -%}
    {#- of a log of plain Parquet, which earlier releases wrote -#}
    {%- do tidemark.drop_table(tidemark.side_relation(relations['current'], 'log_slices')) -%}
    {%- for relation, commit_id in tidemark.kept_tables(relations['current']) -%}{%- do tidemark.drop_any(relation) -%}{%- endfor -%}
    {%- do run_query('delete from ' ~ commits['states'] ~ ' where relation = ' ~ tidemark.string_literal(cfg['relation'])) -%}
    {%- do tidemark.say(entity, 'dropped') -%}
{%- endmacro -%}
