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
{%- macro record_load(opened, derived, commit) -%}{{ return(adapter.run_step('committing.record_load', tidemark, opened, derived, commit)) }}{%- endmacro -%}
{%- macro table_versions(cfg, relations, moment) -%}
    {{ return(adapter.run_step('committing.table_versions', tidemark, cfg, relations, moment)) }}
{%- endmacro -%}

{#- tidemark.pipeline.delta_files -#}
{%- macro as_it_is(cfg, relation, name) -%}{{ return(adapter.run_step('delta_files.as_it_is', tidemark, cfg, relation, name)) }}{%- endmacro -%}
{%- macro can_stage_changes(plan, load) -%}{{ return(adapter.call_function('tidemark.pipeline.delta_files.can_stage_changes', plan, load)) }}{%- endmacro -%}
{%- macro check_staged(cfg, staged, counted) -%}{{ return(adapter.run_step('delta_files.check_staged', tidemark, cfg, staged, counted)) }}{%- endmacro -%}
{%- macro has_delta_files(cfg) -%}{{ return(adapter.run_step('delta_files.has_delta_files', tidemark, cfg)) }}{%- endmacro -%}
{%- macro is_written_at_once(cfg, relation) -%}{{ return(adapter.run_step('delta_files.is_written_at_once', tidemark, cfg, relation)) }}{%- endmacro -%}
{%- macro staged_log_rows(opened, plan, load, rows, figures) -%}
    {{ return(adapter.run_step('delta_files.staged_log_rows', tidemark, opened, plan, load, rows, figures)) }}
{%- endmacro -%}
{%- macro version_to_append(opened, load) -%}{{ return(adapter.run_step('delta_files.version_to_append', tidemark, opened, load)) }}{%- endmacro -%}

{#- tidemark.pipeline.enriched -#}
{%- macro take_back_batches(opened, record) -%}{{ return(adapter.run_step('enriched.take_back_batches', tidemark, opened, record)) }}{%- endmacro -%}

{#- tidemark.pipeline.extracts -#}
{%- macro type_compared_values(cfg, plan) -%}{{ return(adapter.run_step('extracts.type_compared_values', tidemark, cfg, plan)) }}{%- endmacro -%}

{#- tidemark.pipeline.given -#}
{%- macro declared_types(cfg) -%}{{ return(adapter.run_step('given.declared_types', tidemark, cfg)) }}{%- endmacro -%}
{%- macro pepper_check(cfg) -%}{{ return(adapter.run_step('given.pepper_check', tidemark, cfg)) }}{%- endmacro -%}
{%- macro pepper_of(cfg, plan) -%}{{ return(adapter.run_step('given.pepper_of', tidemark, cfg, plan)) }}{%- endmacro -%}

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

{#- tidemark.pipeline.slices -#}
{%- macro clear_slices(current) -%}{{ return(adapter.run_step('slices.clear_slices', tidemark, current)) }}{%- endmacro -%}
{%- macro drop_slices(current, whose='dead') -%}{{ return(adapter.run_step('slices.drop_slices', tidemark, current, whose)) }}{%- endmacro -%}
{%- macro forget_run_views(current) -%}{{ return(adapter.run_step('slices.forget_run_views', tidemark, current)) }}{%- endmacro -%}
{%- macro kept_rows(cfg, plan, load, name, sql) -%}
    {{ return(adapter.run_step('slices.kept_rows', tidemark, cfg, plan, load, name, sql)) }}
{%- endmacro -%}
{%- macro make_slice(current, commit_id, name, sql) -%}
    {{ return(adapter.run_step('slices.make_slice', tidemark, current, commit_id, name, sql)) }}
{%- endmacro -%}
{%- macro make_view(view, sql, is_kept=false) -%}{{ return(adapter.run_step('slices.make_view', tidemark, view, sql, is_kept)) }}{%- endmacro -%}
{%- macro opened_to_come(opened, plan) -%}{{ return(adapter.run_step('slices.opened_to_come', tidemark, opened, plan)) }}{%- endmacro -%}

{#- tidemark.pipeline.steps -#}
{%- macro atomic_summary(figures) -%}{{ return(adapter.call_function('tidemark.pipeline.steps.batch_summary', figures)) }}{%- endmacro -%}
{%- macro load_entity(opened, body) -%}{{ return(adapter.run_step('steps.load_entity', tidemark, opened, body)) }}{%- endmacro -%}
{%- macro summary(figures) -%}{{ return(adapter.call_function('tidemark.pipeline.steps.summary', figures)) }}{%- endmacro -%}

{#- tidemark.pipeline.tables -#}
{%- macro drop_any(relation) -%}{{ return(adapter.run_step('tables.drop_any', tidemark, relation)) }}{%- endmacro -%}
{%- macro drop_table(relation) -%}{{ return(adapter.run_step('tables.drop_table', tidemark, relation)) }}{%- endmacro -%}
{%- macro make_current(cfg, plan, relations) -%}{{ return(adapter.run_step('tables.make_current', tidemark, cfg, plan, relations)) }}{%- endmacro -%}
{%- macro widen_columns(relation, columns) -%}{{ return(adapter.run_step('tables.widen_columns', tidemark, relation, columns)) }}{%- endmacro -%}

{#- tidemark.pipeline.timeline -#}
{%- macro timeline(commits, relation, before=none) -%}{{ return(adapter.run_step('timeline.timeline', tidemark, commits, relation, before)) }}{%- endmacro -%}

