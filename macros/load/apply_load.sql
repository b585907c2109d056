{#- Once the log has a commit: a new log takes the place of the old one, and current follows. Doing it twice does nothing the second
    time, so the next run finishes a load that died on the way by the same. -#}
{%- macro apply_load(opened, plan, load, commit, figures=none) -%}
    {%- if opened['cfg']['family'] == 'enriched' -%}{{ return(none) }}{%- endif -%}
    {%- set cfg, relations, commits = opened['cfg'], opened['relations'], opened['commits'] -%}
    {%- if load['kind'] in ['full_refresh', 'rehash'] -%}
        {%- do tidemark.swap_logs(opened, commit) -%}
        {%- if tidemark.changes_format(cfg, opened['state']['recorded']) -%}{%- do tidemark.drop_any(relations['current']) -%}{%- endif -%}
        {%- set load = dict(load, rebuild=true) -%}
        {%- do tidemark.make_current(cfg, plan, relations) -%}
        {%- do tidemark.make_history_view(cfg, plan, relations) -%}
    {%- endif -%}
    {%- do tidemark.apply_to_current(cfg, plan, relations, load, figures) -%}
    {%- if load['kind'] == 'rollback' -%}
        {%- do tidemark.reopen_rejects(cfg, relations, commit, tidemark.mark_undone(cfg, commits, commit)) -%}
    {%- elif load.get('mends_rejects') -%}
        {%- do tidemark.resolve_rejects(cfg, relations, load['business_date'], load['commit_id']) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Current follows the log: by MERGE of the rows that changed, or as a whole where every row gets a new tag, where the format cannot
    merge, where MERGE would write it all but for little, and where current is built again. -#}
{%- macro apply_to_current(cfg, plan, relations, load, figures=none) -%}
    {%- set nothing_logged = figures is not none and not figures['rows_superseded'] and not tidemark.rows_that_change(plan, load, figures) -%}
    {%- set load = dict(load, version=tidemark.next_commit_id(0)) -%}
    {%- set all_tagged = cfg['tag_unchanged'] and load['business_date'] == load['last_date'] -%}
    {#- Going back to an earlier date changes the tags of rows that no log row tells of. -#}
    {%- if load.get('written') and not load['rebuild'] and adapter.replace_current(load['written']) is not none -%}
        {#- The engine in the workers wrote current with the log. -#}
    {%- elif load['rebuild'] or (all_tagged and load['kind'] == 'rollback') -%}
        {%- do tidemark.overwrite_current(cfg, plan, relations, {'touched': tidemark.latest_rows_sql(plan, relations), 'stored': none}, load) -%}
    {%- elif tidemark.is_written_whole(cfg, relations, load, figures, nothing_logged) -%}
        {#- So many keys weigh some 100 MB: to send them to every core costs less than to shuffle and sort current. -#}
        {%- set load = dict(load, few_touched=figures is not none and (figures['rows_logged'] or 0) + (figures['rows_superseded'] or 0) <= 1000000) -%}
        {%- set now = dict(relations, log=tidemark.as_it_is(cfg, relations['log'], 'log')) if not load.get('touched') else relations -%}
        {%- set touched = tidemark.touched_rows_sql(plan, now, load) -%}
        {%- set stored = tidemark.run_view(cfg['target'], 'stored') -%}
        {%- set is_written = tidemark.has_delta_files(cfg) and adapter.replace_rows(
            relations['current'], tidemark.current_rows_sql(cfg, plan, relations, {'touched': touched, 'stored': stored}, load), stored
        ) is not none -%}
        {%- if not is_written -%}
            {%- do tidemark.overwrite_current(cfg, plan, relations, {'touched': touched, 'stored': relations['current']}, load) -%}
        {%- endif -%}
    {%- elif not nothing_logged -%}
        {%- set load = dict(load, key_list=tidemark.keys_to_merge(relations, load, figures)) -%}
        {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'merge_into_current')(cfg, plan, relations, load)) -%}
    {%- endif -%}
{%- endmacro -%}

{#- How many rows of the log current follows: an event that changes nothing is logged, too. -#}
{%- macro rows_that_change(plan, load, figures) -%}
    {%- if load['forward'] and plan.get('flow') == 'events' -%}
        {{ return((figures['rows_inserted'] or 0) + (figures['rows_updated'] or 0) + (figures['rows_deleted'] or 0)) }}
    {%- endif -%}
    {{ return(figures['rows_logged']) }}
{%- endmacro -%}

{#- Whether current is written as a whole where it is not built again. -#}
{%- macro is_written_whole(cfg, relations, load, figures, nothing_logged) -%}
    {%- if cfg['tag_unchanged'] and load['business_date'] == load['last_date'] -%}{{ return(true) }}{%- endif -%}
    {{ return(not nothing_logged and (cfg['file_format'] == 'parquet' or tidemark.merge_writes_all(cfg, relations, load, figures))) }}
{%- endmacro -%}

{#- Write all rows of current: those touched, and of those stored the others. -#}
{%- macro overwrite_current(cfg, plan, relations, rows, load) -%}
    {%- set sql = tidemark.current_rows_sql(cfg, plan, relations, rows, load) -%}
    {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'overwrite_current')(plan, relations, sql, load)) -%}
{%- endmacro -%}

{#- Whether a MERGE of what a run logged would write most of current again, which costs more than to write it all: it reads it twice. By
    copy_on_write every file with one such row is written, and hashes lie in all files alike, unless the table is laid out by other
    columns; with deletion vectors only what changed. -#}
{%- macro merge_writes_all(cfg, relations, load, figures) -%}
    {%- if tidemark.is_written_at_once(cfg, relations['current']) -%}{{ return(true) }}{%- endif -%}
    {%- if not load['forward'] or not figures or 'existing' not in figures -%}{{ return(false) }}{%- endif -%}
    {%- if figures['rows_logged'] * 4 >= figures['existing'] -%}{{ return(true) }}{%- endif -%}
    {{ return(
        cfg['write_mode'] == 'copy_on_write' and not cfg['partition_by'] and not cfg['cluster_by']
        and figures['rows_logged'] >= tidemark.file_count(cfg['file_format'], relations['current'])
    ) }}
{%- endmacro -%}

{#- The keys of a small commit as literals, which let MERGE leave out files of current by their statistics: a condition that stands in
    the slice alone does not. None where the commit touched more than `tidemark__merge_keys`: with a hundred, the code that Spark makes
    of the condition is too large to be compiled (python/benchmarks/pruning.py). -#}
{%- macro keys_to_merge(relations, load, figures) -%}
    {%- set most = tidemark.run_config()['merge_keys'] -%}
    {#- Every touched key has a row or a mark in the commit, so that nothing is asked for a large one. -#}
    {%- set rows = (figures['rows_logged'] or 0) + (figures['rows_superseded'] or 0) if figures is not none else none -%}
    {%- if not most or (rows is not none and rows > 2 * most) -%}{{ return(none) }}{%- endif -%}
    {%- set keys = [] -%}
    {%- for row in run_query(tidemark.touched_keys_sql(relations, load, most)) -%}
        {%- do keys.append(tidemark.string_literal(row[0])) -%}
    {%- endfor -%}
    {{ return(keys if keys | length <= most else none) }}
{%- endmacro -%}

{#- Put the new log of a full refresh or a rehash in the place of the old one, which is kept as `<log>_<commit>`; the same for what was
    written beside it, and for what the new log has none of. Each step is skipped when done, and the log is last, so that an interrupted
    swap is finished by calling it again. -#}
{%- macro swap_logs(opened, commit) -%}
    {%- set cfg, relations, recorded, commit_id = opened['cfg'], opened['relations'], opened['state']['recorded'], commit['commit_id'] -%}
    {%- set stood = tidemark.side_relations(relations['current'], recorded['file_format']) -%}
    {%- set is_begun = tidemark.relation_exists(tidemark.new_relation(relations['log_table'])) -%}
    {%- set needed = ['log_table'] + tidemark.needed_relations(commit['config']) -%}
    {%- for name in tidemark.swapped_relations() -%}
        {%- set located = name == 'log_table' and cfg['location_root'] is not none -%}
        {%- set new, old = tidemark.new_relation(relations[name]), tidemark.old_relation(stood[name], commit_id) -%}
        {%- set has_new = tidemark.relation_exists(new) -%}
        {%- if has_new and name == 'log_table' -%}{%- do tidemark.drop_log_views(opened) -%}{%- endif -%}
        {%- if (has_new or (is_begun and name not in needed)) and tidemark.relation_exists(stood[name]) and not tidemark.relation_exists(old) -%}
            {%- do tidemark.run_statements(tidemark.rename_table_sql(stood[name], old, located)) -%}
        {%- endif -%}
        {%- if has_new -%}
            {%- if name == 'log_table' -%}{%- do tidemark.keep_log_view(opened, old, commit_id) -%}{%- endif -%}
            {%- do tidemark.run_statements(tidemark.rename_table_sql(new, relations[name], located)) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- A Parquet log is shown by a view, which goes before its slices do: the next run of one that died in between would ask it. It follows them
    to the name that they are kept under, and is made anew over the new ones: see make_history_view(). -#}
{%- macro drop_log_views(opened) -%}
    {%- set log = opened['relations']['log'] -%}
    {%- if opened['cfg']['file_format'] == 'parquet' -%}{%- do run_query('drop view if exists ' ~ tidemark.new_relation(log)) -%}{%- endif -%}
    {%- if opened['state']['recorded']['file_format'] == 'parquet' -%}{%- do run_query('drop view if exists ' ~ log) -%}{%- endif -%}
{%- endmacro -%}

{%- macro keep_log_view(opened, old, commit_id) -%}
    {%- set relations, recorded = opened['relations'], opened['state']['recorded'] -%}
    {%- if recorded['file_format'] == 'parquet' and tidemark.relation_exists(old) -%}
        {%- do tidemark.run_statements(tidemark.parquet__evolve_log(
            {'log': tidemark.old_relation(relations['log'], commit_id), 'log_table': old}, tidemark.log_columns(tidemark.recorded_plan(recorded))
        )) -%}
    {%- endif -%}
{%- endmacro -%}
