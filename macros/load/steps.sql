{#- Steps of a load that are Python, by the names under which macros call them: a line goes when its last caller does. Several are in
    one file, as each is no more than its name. -#}

{#- tidemark.pipeline.altering -#}
{%- macro columns_go_back(cfg, relations, now, back) -%}
    {{ return(adapter.run_step('altering.columns_go_back', tidemark, cfg, relations, now, back)) }}
{%- endmacro -%}

{#- tidemark.pipeline.applying -#}
{%- macro apply_load(opened, plan, load, commit, figures=none) -%}
    {{ return(adapter.run_step('applying.apply_load', tidemark, opened, plan, load, commit, figures)) }}
{%- endmacro -%}
{%- macro rebuild_current(cfg, plan, state, relations) -%}
    {{ return(adapter.run_step('applying.rebuild_current', tidemark, cfg, plan, state, relations)) }}
{%- endmacro -%}

{#- tidemark.pipeline.checking -#}

{#- tidemark.pipeline.commits -#}
{#- An adapter that only reads takes them as they are. -#}
{%- macro ensure_commits(run) -%}
    {%- if tidemark.can('load') -%}{{ return(adapter.run_step('commits.ensure_commits', tidemark, run)) }}{%- endif -%}
    {%- set commits = tidemark.commits_relations(run) -%}
    {%- if not tidemark.relation_exists(commits['view']) -%}{%- do tidemark.check_loads(commits['view'] | string) -%}{%- endif -%}
    {{ return(commits) }}
{%- endmacro -%}
{%- macro entity_state(commits, cfg_relation, run) -%}
    {{ return(adapter.run_step('commits.entity_state', tidemark, commits, cfg_relation, run)) }}
{%- endmacro -%}
{%- macro new_commit(opened, load, recorded) -%}{{ return(adapter.run_step('commits.new_commit', tidemark, opened, load, recorded)) }}{%- endmacro -%}
{%- macro record_commit(commits, commit, state, figures) -%}
    {{ return(adapter.run_step('commits.record_commit', tidemark, commits, commit, state, figures)) }}
{%- endmacro -%}

{#- tidemark.pipeline.committing -#}
{%- macro check_still_ours(opened, derived, commit) -%}
    {{ return(adapter.run_step('committing.check_still_ours', tidemark, opened, derived, commit)) }}
{%- endmacro -%}
{%- macro commit_load(opened, plan, derived, commit) -%}
    {{ return(adapter.run_step('committing.commit_load', tidemark, opened, plan, derived, commit)) }}
{%- endmacro -%}
{%- macro is_only_process() -%}{{ return(adapter.run_step('committing.is_only_process', tidemark)) }}{%- endmacro -%}
{%- macro record_load(opened, derived, commit) -%}{{ return(adapter.run_step('committing.record_load', tidemark, opened, derived, commit)) }}{%- endmacro -%}
{%- macro table_versions(cfg, relations, moment) -%}
    {{ return(adapter.run_step('committing.table_versions', tidemark, cfg, relations, moment)) }}
{%- endmacro -%}

{#- tidemark.pipeline.enriched -#}
{%- macro take_back_batches(opened, record) -%}{{ return(adapter.run_step('enriched.take_back_batches', tidemark, opened, record)) }}{%- endmacro -%}

{#- tidemark.pipeline.extracts -#}
{%- macro type_compared_values(cfg, plan) -%}{{ return(adapter.run_step('extracts.type_compared_values', tidemark, cfg, plan)) }}{%- endmacro -%}

{#- tidemark.pipeline.landing -#}
{%- macro lands_in_files(cfg) -%}{{ return(adapter.run_step('landing.lands_in_files', tidemark, cfg)) }}{%- endmacro -%}

{#- tidemark.pipeline.opening -#}
{%- macro log_relations(cfg, run, current) -%}{{ return(adapter.run_step('opening.log_relations', tidemark, cfg, run, current)) }}{%- endmacro -%}
{%- macro open_load(cfg, run, current=none) -%}
    {%- do tidemark.check_loads(cfg['entity']) -%}
    {{ return(adapter.run_step('opening.open_load', tidemark, cfg, run, current)) }}
{%- endmacro -%}
{%- macro opened_anew(opened, run=none) -%}{{ return(adapter.run_step('opening.opened_anew', tidemark, opened, run)) }}{%- endmacro -%}
{%- macro settled_state(opened) -%}{{ return(adapter.run_step('opening.settled_state', tidemark, opened)) }}{%- endmacro -%}

{#- tidemark.pipeline.planning -#}
{%- macro drop_plan(current) -%}{{ return(adapter.run_step('planning.drop_plan', tidemark, current)) }}{%- endmacro -%}
{%- macro no_planned_facts(opened) -%}{{ return(adapter.run_step('planning.no_planned_facts', tidemark, opened)) }}{%- endmacro -%}
{%- macro plan_entity(cfg, run, current, body) -%}
    {{ return(adapter.run_step('planning.plan_entity', tidemark, cfg, run, current, body)) }}
{%- endmacro -%}

{#- tidemark.pipeline.replacing -#}
{%- macro check_replaced_log(opened, commit) -%}{{ return(adapter.run_step('replacing.check_replaced_log', tidemark, opened, commit)) }}{%- endmacro -%}
{%- macro erases_beside(commits, relation, commit_id) -%}
    {{ return(adapter.run_step('replacing.erases_beside', tidemark, commits, relation, commit_id)) }}
{%- endmacro -%}

{#- tidemark.pipeline.steps -#}
{%- macro atomic_summary(figures) -%}{{ return(adapter.call_function('tidemark.pipeline.steps.batch_summary', figures)) }}{%- endmacro -%}
{%- macro load_entity(opened, body) -%}{{ return(adapter.run_step('steps.load_entity', tidemark, opened, body)) }}{%- endmacro -%}
{%- macro summary(figures) -%}{{ return(adapter.call_function('tidemark.pipeline.steps.summary', figures)) }}{%- endmacro -%}

{#- tidemark.pipeline.tables -#}
{%- macro make_current(cfg, plan, relations) -%}{{ return(adapter.run_step('tables.make_current', tidemark, cfg, plan, relations)) }}{%- endmacro -%}
{%- macro tables_of_columns(cfg, plan, log) -%}{{ return(adapter.call_function('tidemark.pipeline.tables.tables_of_columns', cfg, plan, log)) }}{%- endmacro -%}
{%- macro widen_columns(relation, columns) -%}{{ return(adapter.run_step('tables.widen_columns', tidemark, relation, columns)) }}{%- endmacro -%}
{%- macro write_relations(opened) -%}{{ return(adapter.run_step('tables.write_relations', tidemark, opened)) }}{%- endmacro -%}

{#- tidemark.pipeline.timeline -#}
{%- macro timeline(commits, relation, before=none) -%}{{ return(adapter.run_step('timeline.timeline', tidemark, commits, relation, before)) }}{%- endmacro -%}

