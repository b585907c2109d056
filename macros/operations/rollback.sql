{#- Take an entity back to how it stood after a commit, by one more commit of the log: the feed shows it as one correction, and it can be
    rolled back itself. With `together` the cdc models that the same dbt runs wrote go back to before those runs, the named one last; none
    of them does if one of them cannot. -#}
{%- macro rollback(entity, to=none, together=false, dry_run=false) -%}
    {%- set dry = tidemark.is_true(dry_run) -%}
    {%- set node = tidemark.entity_node(entity, ['cdc', 'atomic']) -%}
    {%- if node['config']['materialized'] == 'atomic' and tidemark.is_true(together) -%}
        {%- do tidemark.raise_error('usage', entity ~ ': together takes cdc models along, and only with another one; enriched events go back by themselves') -%}
    {%- elif node['config']['materialized'] == 'atomic' -%}
        {{ return(tidemark.rollback_batches(node, to, dry)) }}
    {%- endif -%}
    {%- set opened = tidemark.open_entity(entity, 'roll back', dry) -%}
    {%- if to is none -%}
        {%- do tidemark.raise_error('usage', entity ~ ': to where? Give `to`, a commit id, a business date or a timestamp; `dbt run-operation show_commits` lists the commits') -%}
    {%- endif -%}
    {%- set steps = tidemark.rollback_steps(opened, to) -%}
    {%- set others = [] -%}
    {%- if tidemark.is_true(together) -%}
        {%- do tidemark.settle_entities_of_runs(opened, steps, dry) -%}
        {%- for other in tidemark.entities_of_runs(opened, steps) -%}
            {%- set other_opened = tidemark.open_entity(other['entity'], 'roll back', dry) -%}
            {%- do others.append((other_opened, tidemark.rollback_steps(other_opened, other['to']))) -%}
        {%- endfor -%}
    {%- endif -%}
    {#- what cannot go back is told before anything does -#}
    {%- set ways = [] -%}
    {%- for its_opened, its_steps in others + [(opened, steps)] -%}
        {%- do ways.append((its_opened, tidemark.with_columns_back(its_opened, its_steps))) -%}
    {%- endfor -%}
    {%- for its_opened, its_steps in ways -%}{%- do tidemark.roll_back(its_opened, its_steps, dry) -%}{%- endfor -%}
{%- endmacro -%}

{#- The steps of a rollback that has something to do, with what the entity is held to then (`back`) and how columns are renamed for that. -#}
{%- macro with_columns_back(opened, steps) -%}
    {%- if not steps['undone'] and not steps['redone'] -%}{{ return(steps) }}{%- endif -%}
    {%- set back = tidemark.recorded_at(opened, steps['target']) -%}
    {{ return(dict(steps, back=back, renames=tidemark.renames_back(opened['cfg']['entity'], opened['state']['recorded']['columns'], back['columns']))) }}
{%- endmacro -%}

{#- Go back, or say what that would do. -#}
{%- macro roll_back(opened, steps, dry_run) -%}
    {%- set cfg, relations, state = opened['cfg'], opened['relations'], opened['state'] -%}
    {%- if not steps['undone'] and not steps['redone'] -%}
        {%- do tidemark.say(cfg['entity'], 'is at commit ' ~ steps['target'] ~ ' already, nothing to roll back') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set recorded, back = state['recorded'], steps['back'] -%}
    {%- set recorded_cfg = tidemark.recorded_cfg(cfg, recorded) -%}
    {%- set plan = tidemark.recorded_plan(recorded) -%}
    {#- the log still has the values of columns that are gone from current -#}
    {%- set whole = dict(plan, stored=plan['stored'] + plan['gone'], gone=[], sensitive=plan['sensitive'] + plan['gone_sensitive']) -%}
    {%- set slice_sql = tidemark.rollback_slice_sql(whole, relations, steps['target']) -%}
    {%- set seen = tidemark.query_rows(tidemark.rollback_figures_sql(slice_sql))[0] -%}
    {%- do tidemark.say(cfg['entity'], ('would go' if dry_run else 'going') ~ ' back to commit ' ~ steps['target'] ~ ': ' ~ seen['mark_count']
        ~ ' log rows superseded, ' ~ seen['copy_count'] ~ ' appended anew') -%}
    {%- for name, label in [('undone', 'undoes'), ('redone', 'makes hold again')] -%}
        {%- for commit in steps[name] -%}
            {%- do tidemark.say(cfg['entity'], '  ' ~ label ~ ' commit ' ~ commit['commit_id'] ~ ' (' ~ commit['kind']
                ~ (' of ' ~ commit['business_date'] if commit['business_date'] else '')
                ~ (', a correction' if commit.get('is_correction') and commit['kind'] == 'load' else '') ~ '): I ' ~ (commit['rows_inserted'] or 0) ~ ', U '
                ~ (commit['rows_updated'] or 0) ~ ', D ' ~ (commit['rows_deleted'] or 0)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for old, new in steps['renames'] -%}
        {%- do tidemark.say(cfg['entity'], '  renames column `' ~ old ~ '` to `' ~ new ~ '`') -%}
    {%- endfor -%}
    {%- if cfg['extract'] == 'events' and steps['undone'] -%}{%- do tidemark.tell_retaken(cfg, relations, steps) -%}{%- endif -%}
    {%- if dry_run -%}{{ return(none) }}{%- endif -%}

    {%- set load = dict(tidemark.rollback_load(state, steps), business_date=seen['first_date'] or steps['last_date']) -%}
    {%- set commit = dict(tidemark.new_commit(opened, load, back), business_date=none, source_commit_id=steps['target']) -%}
    {%- set slice = tidemark.make_slice(cfg['target'], load['commit_id'], 'log', slice_sql) -%}
    {%- set held = dict(opened, cfg=recorded_cfg) -%}
    {%- set derived = {
        'outcome': 'commit', 'load': load, 'slice': slice, 'numbers': tidemark.table_versions(recorded_cfg, relations, 'before'),
        'figures': {'rows_logged': seen['copy_count'] | int, 'rows_superseded': seen['mark_count'] | int},
        'beside': [tidemark.insert_sql(relations['sensitive'], tidemark.sensitive_columns(whole),
            tidemark.restored_sensitive_sql(whole, relations, slice, load['commit_id']))]
            if whole['sensitive'] and seen['copy_count'] | int else [],
    } -%}
    {%- do tidemark.commit_load(held, whole, derived, commit) -%}
    {%- do tidemark.drop_slices(cfg['target']) -%}
    {%- do tidemark.check_still_ours(held, derived, commit) -%}
    {%- set is_remade = tidemark.columns_go_back(recorded_cfg, relations, recorded, back) -%}
    {%- do tidemark.apply_load(
        held, tidemark.recorded_plan(back), dict(load, business_date=steps['last_date'], rebuild=is_remade), commit, derived['figures']
    ) -%}
    {%- do tidemark.record_load(held, derived, commit) -%}
    {%- do tidemark.say(cfg['entity'], 'is back at commit ' ~ steps['target'] ~ ', by commit ' ~ load['commit_id']) -%}
{%- endmacro -%}

{#- What an entity is held to once it is back at a commit. -#}
{%- macro recorded_at(opened, target) -%}
    {%- set cfg, recorded = opened['cfg'], opened['state']['recorded'] -%}
    {%- if recorded['extract'] != 'events' -%}{{ return(recorded) }}{%- endif -%}
    {%- set then = tidemark.query_rows(tidemark.config_at_sql(opened['commits']['states'], cfg['relation'], target))[0]['config'] -%}
    {%- set named = cfg['columns'] | map(attribute='name') | map('lower') | list + cfg['keys'] | map('lower') | list -%}
    {{ return(tidemark.recorded_back(recorded, fromjson(then) if then else none, named)) }}
{%- endmacro -%}

{#- Say what the next run will take again, as it was read by commits that are undone. -#}
{%- macro tell_retaken(cfg, relations, steps) -%}
    {%- if not tidemark.lands_in_files(cfg) -%}
        {%- do tidemark.say(cfg['entity'], '  what the source still has of their events the next run takes again') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set ids = steps['undone'] | map(attribute='commit_id') | list -%}
    {%- set file = tidemark.landed_file() -%}
    {%- set files = run_query('select count(distinct ' ~ file ~ '), min(' ~ file ~ '), max(' ~ file ~ ') from ' ~ relations['landed'] ~ ' where _commit_id in (' ~ ids | join(', ') ~ ')')[0] -%}
    {%- if files[0] -%}
        {%- set gone = tidemark.files_gone(cfg, relations, ids) | length -%}
        {%- do tidemark.say(cfg['entity'], '  files that the next run reads again, unless they are moved away first: ' ~ files[0]
            ~ ' (' ~ files[1] ~ (' … ' ~ files[2] if files[0] > 1 else '') ~ ')' ~ ('; gone by now: ' ~ gone if gone else '')) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The files that these commits read and that are not where events land any more. -#}
{%- macro files_gone(cfg, relations, commit_ids) -%}
    {%- if not commit_ids or not tidemark.lands_in_files(cfg) -%}{{ return([]) }}{%- endif -%}
    {#- a query of a folder that is not there fails -#}
    {%- set sql = tidemark.files_gone_sql(relations['landed'], cfg['location'], commit_ids) if tidemark.files_at(cfg['location'])
        else 'select distinct ' ~ tidemark.landed_file() ~ ' from ' ~ relations['landed'] ~ ' where _commit_id in (' ~ commit_ids | join(', ') ~ ')' -%}
    {{ return(tidemark.first_column(sql)) }}
{%- endmacro -%}

{%- macro rollback_load(state, steps) -%}
    {{ return({
        'commit_id': tidemark.next_commit_id(state['last_id']), 'kind': 'rollback', 'business_date': steps['last_date'],
        'last_commit_id': state['last_commit_id'], 'forward': false, 'rebuild': false,
        'last_date': steps['last_date'], 'last_date_commit_id': steps['last_date_commit_id'], 'last_extract': steps['last_extract'],
    }) }}
{%- endmacro -%}

{#- The commit that `to` stands for, and which commits going back to it undoes or makes hold again. -#}
{%- macro rollback_steps(opened, to) -%}
    {%- set cfg, commits = opened['cfg'], opened['commits'] -%}
    {%- set target = tidemark.span_of(cfg, commits, {'from': to, 'argument': 'to'}, 'rollback')['from'] | int -%}
    {%- if target == 0 -%}
        {%- do tidemark.raise_error('usage',
            'rollback: ' ~ cfg['entity'] ~ ' has no commit at or before ' ~ to ~ '. To begin again from nothing, load with --full-refresh'
        ) -%}
    {%- endif -%}
    {{ return(tidemark.steps_to(tidemark.timeline(commits, cfg['relation']), target)) }}
{%- endmacro -%}

{#- The cdc models of the project but for an entity's own. -#}
{%- macro other_entities(opened) -%}
    {%- set found = [] -%}
    {%- for node in tidemark.models_of(['cdc']) if node['schema'] ~ '.' ~ node['alias'] != opened['cfg']['relation'] -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- Finish or roll back what the runs whose commits are undone have left in flight in other entities. -#}
{%- macro settle_entities_of_runs(opened, steps, dry_run) -%}
    {%- set runs = steps['undone'] | map(attribute='invocation_id') | select | unique | list -%}
    {%- set relations = tidemark.first_column(tidemark._inflight_of_runs_sql(opened['commits']['states'], runs)) if runs else [] -%}
    {%- for node in tidemark.other_entities(opened) if node['schema'] ~ '.' ~ node['alias'] in relations -%}
        {%- do tidemark.open_load(tidemark.entity_config(node), dict(opened['run'], dry_run=dry_run)) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The other entities that were written by the runs whose commits are undone, each with the commit before them. -#}
{%- macro entities_of_runs(opened, steps) -%}
    {%- set commits = opened['commits'] -%}
    {%- set runs = steps['undone'] | map(attribute='invocation_id') | unique | list -%}
    {%- set others = [] -%}
    {%- for node in tidemark.other_entities(opened) -%}
        {%- set timeline = tidemark.timeline(commits, node['schema'] ~ '.' ~ node['alias']) -%}
        {%- set at = adapter.call_function('tidemark.rules.timeline.before_runs', timeline, runs) -%}
        {%- if at['first'] is not none and at['before'] is none -%}
            {%- do tidemark.say(node['name'], 'its first load came from the same run; there is nothing before it to go back to, so it stays') -%}
        {%- elif at['first'] is not none -%}
            {%- do others.append({'entity': node['schema'] ~ '.' ~ node['alias'], 'to': at['before']}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(others) }}
{%- endmacro -%}
