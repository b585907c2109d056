{#- Make current anew from the log, whatever has become of its files: nothing of it is read. Another table is filled beside it, which takes
    its name when it is whole. What a run left in flight, as it met a file that could not be read, is finished then. -#}
{%- macro rebuild(entity, dry_run=false) -%}
    {%- do tidemark.check_loads(entity) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- set dry = tidemark.is_true(dry_run) -%}
    {%- set run = dict(tidemark.run_config(), dry_run=dry) -%}
    {%- set relations = tidemark.side_relations(cfg['target']) -%}
    {%- set state = tidemark.entity_state(tidemark.ensure_commits(run), cfg['relation'], run) -%}
    {%- if not state['recorded'] or not tidemark.relation_exists(relations['log']) -%}
        {%- do tidemark.raise_error('data', entity ~ ': there is no log, so there is nothing to rebuild') -%}
    {%- endif -%}
    {%- do tidemark.say(entity, ('would make ' if dry else 'making ') ~ relations['current'] ~ ' anew from ' ~ relations['log']) -%}
    {%- if dry -%}{{ return(none) }}{%- endif -%}

    {#- A load that has altered the tables has altered the log, too. -#}
    {%- set loads = state['inflight'] | selectattr('kind', 'equalto', 'load') | map(attribute='config') | select | list -%}
    {%- set recorded = fromjson(loads[-1]) if loads else state['recorded'] -%}
    {%- set recorded_cfg, plan = tidemark.recorded_cfg(cfg, recorded), tidemark.recorded_plan(recorded, cfg) -%}
    {%- set new = tidemark.new_relation(relations['current']) -%}
    {%- set beside = dict(relations, current=new) -%}
    {%- do tidemark.drop_table(new) -%}
    {%- do tidemark.make_current(recorded_cfg, plan, beside) -%}
    {%- do tidemark.rebuild_current(recorded_cfg, plan, state, beside) -%}
    {%- do tidemark.drop_table(relations['current']) -%}
    {%- do tidemark.run_statements(tidemark.rename_table_sql(new, relations['current'], cfg['location_root'] is not none)) -%}
    {%- set opened = tidemark.open_load(cfg, run) -%}
    {%- do tidemark.say(entity, 'rebuilt: ' ~ tidemark.row_count(relations['current']) ~ ' rows') -%}
{%- endmacro -%}
