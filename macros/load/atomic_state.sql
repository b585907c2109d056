{#- What is known of atomic events once no commit is in flight. -#}
{%- macro atomic_state(cfg, run, relations, commits) -%}
    {%- set state = tidemark.settled_state(cfg, run, relations, commits) -%}
    {%- set exists = tidemark.relation_exists(relations['current']) -%}
    {%- if exists and not state['recorded'] and not run['full_refresh'] -%}
        {%- set made = tidemark.relation_exists(relations['entities']) -%}
        {%- if not made or run_query('select 1 from ' ~ relations['current'] ~ ' limit 1') | length > 0 -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': ' ~ relations['current'] ~ ' is a table that Tidemark did not make, or whose commits are gone from '
                ~ commits['view'] ~ '. Drop or rename it, or set it aside with --full-refresh'
            ) -%}
        {%- endif -%}
    {%- elif state['recorded'] and not exists and not run['full_refresh'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ relations['current'] ~ ' is gone, but commits were made to it. Restore the table, or read all that '
            ~ 'has landed again with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- do state.update({
        'exists': exists,
        'first': not state['recorded'] or run['full_refresh'],
        'has_manifest': tidemark.relation_exists(relations['manifest']),
    }) -%}
    {%- if not state['first'] -%}
        {%- do tidemark.check_atomic_drift(cfg, state) -%}
        {%- do tidemark.make_missing_atomic(cfg, relations) -%}
    {%- endif -%}
    {{ return(state) }}
{%- endmacro -%}


{#-
    Make anew what beside atomic events was dropped by hand: entities from the events. What was rejected is gone, and
    without the register of files all of them would be taken again.
-#}
{%- macro make_missing_atomic(cfg, relations) -%}
    {%- set present = tidemark.present_relations(relations) -%}
    {%- if 'landed' not in present and cfg['location'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ relations['landed'] ~ ', which knows the files that were read, is gone. Restore the table, or read all that has landed again with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- for name, columns in [('landed', tidemark.landed_columns()), ('rejects', tidemark.rejected_line_columns())] if name not in present -%}
        {%- do tidemark.clear_debris([relations[name]]) -%}
        {%- do tidemark.run_statements(tidemark.delta__create_table(relations[name], columns, {})) -%}
        {%- do log(cfg['entity'] ~ ': ' ~ relations[name] ~ ' was gone and is made anew, without what it had', info=true) -%}
    {%- endfor -%}
    {%- if 'entities' not in present -%}
        {#- Under another name until it is whole. -#}
        {%- set new = tidemark.new_relation(relations['entities']) -%}
        {%- do run_query('drop table if exists ' ~ new) -%}
        {%- do tidemark.clear_debris([new, relations['entities']]) -%}
        {%- do tidemark.run_statements(
            tidemark.delta__create_table(new, tidemark.entity_columns(), {'partition_by': ['vendor', 'name', 'model']})
            + [tidemark.insert_sql(new, tidemark.entity_columns(), tidemark.stored_entities_sql(relations['current'])),
               'alter table ' ~ new ~ ' rename to ' ~ relations['entities']]
        ) -%}
        {%- do log(cfg['entity'] ~ ': ' ~ relations['entities'] ~ ' was gone and is made anew from the events', info=true) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The state of atomic events after what dead runs left in flight was finished or taken away. -#}
{%- macro settled_state(cfg, run, relations, commits) -%}
    {%- set state = tidemark.entity_state(commits, cfg['relation'], run) -%}
    {%- if not state['inflight'] -%}{{ return(state) }}{%- endif -%}
    {%- for commit in state['inflight'] -%}
        {%- do tidemark.resolve_batch(cfg, run, relations, commits, commit) -%}
    {%- endfor -%}
    {{ return(tidemark.entity_state(commits, cfg['relation'], run)) }}
{%- endmacro -%}


{#- What would make new events incomparable with those that are there. -#}
{%- macro check_atomic_drift(cfg, state) -%}
    {%- set recorded = state['recorded']['fingerprint_ignore'] -%}
    {%- if recorded | sort != cfg['fingerprint_ignore'] | sort -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': fingerprint_ignore was ' ~ recorded | sort | join(', ') ~ ' and is now ' ~ cfg['fingerprint_ignore'] | sort | join(', ')
            ~ ': computed fingerprints would not agree with stored ones. Set it back, or read all that has landed again with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- if cfg['looks_across'] and not state['has_manifest'] -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': de-duplication across batches needs a manifest, and there is none of the events that were stored without. Make it with '
            ~ "dbt run-operation populate_manifest --args '{entity: " ~ cfg['entity'] ~ "}'"
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#-
    Finish a commit that a run left in flight if its events are stored, else take away what it had written beside them:
    its files are then read again. The run may be alive after all, slow: it is first shut out.
-#}
{%- macro resolve_batch(cfg, run, relations, commits, commit) -%}
    {%- set figures = tidemark.query_rows(
        'select * from ' ~ commits['states'] ~ ' where relation = ' ~ tidemark.string_literal(cfg['relation'])
        ~ ' and commit_id = ' ~ commit['commit_id'] ~ " and state = 'inflight' order by state_at desc nulls last limit 1"
    )[0] -%}
    {%- do commit.update({
        'relation': cfg['relation'], 'entity': cfg['entity'], 'invocation_id': run['invocation_id'],
        'started_at': tidemark.utc_text(figures['started_at']), 'config': fromjson(commit['config'] or 'null'), 'is_correction': false,
    }) -%}
    {%- set kept = {} -%}
    {%- for name, value in figures.items() if name.startswith('rows_') -%}
        {%- do kept.update({name: value}) -%}
    {%- endfor -%}
    {%- if commit['kind'] == 'rollback' -%}
        {%- do commit.update({'source_commit_id': figures['source_commit_id']}) -%}
        {%- do tidemark.take_back_batches(cfg, relations, commits, commit) -%}
        {%- do log(cfg['entity'] ~ ': finished the rollback ' ~ commit['commit_id'] ~ ', which an earlier call had left', info=true) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set stored = tidemark.has_batch(relations['current'], commit['commit_id']) -%}
    {%- if not stored and tidemark.relation_exists(relations['current']) -%}
        {%- do commit.update({'details': tojson({'taken_over_by': run['invocation_id']})}) -%}
        {%- do tidemark.record_commit(commits, commit, 'inflight', kept) -%}
        {%- do tidemark.run_statements(tidemark.delta__fence_log(relations['current'], commit['commit_id'])) -%}
        {%- set stored = tidemark.has_batch(relations['current'], commit['commit_id']) -%}
    {%- endif -%}
    {%- if stored -%}
        {%- do tidemark.record_commit(commits, commit, 'completed', kept) -%}
    {%- else -%}
        {%- for name in ['manifest', 'entities', 'rejects', 'landed'] if tidemark.has_batch(relations[name], commit['commit_id']) -%}
            {%- do run_query('delete from ' ~ relations[name] ~ ' where _commit_id = ' ~ commit['commit_id']) -%}
        {%- endfor -%}
        {%- do tidemark.record_commit(commits, commit, 'rolled_back', {}) -%}
    {%- endif -%}
    {%- do log(cfg['entity'] ~ (': finished commit ' if stored else ': rolled back commit ') ~ commit['commit_id'] ~ ', which an earlier run had left '
        ~ ('after' if stored else 'before') ~ ' storing its events', info=true) -%}
{%- endmacro -%}


{#- Whether a table has rows of a commit. -#}
{%- macro has_batch(relation, commit_id) -%}
    {{ return(tidemark.relation_exists(relation)
        and run_query('select 1 from ' ~ relation ~ ' where _commit_id = ' ~ commit_id ~ ' limit 1') | length > 0) }}
{%- endmacro -%}
