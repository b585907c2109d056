{#- clean() of enriched events and their entities: claims that no batch finds any more go, and rejects that `rejects_retention` does not
    keep. -#}
{%- macro clean_enriched(node, dry_run, vacuum, retention) -%}
    {%- set is_atomic = node['config']['materialized'] == 'atomic' -%}
    {%- set opened = tidemark.open_atomic(node, dry_run) if is_atomic else tidemark.open_shred(node) -%}
    {%- set cfg, commits = opened['cfg'], opened['commits'] -%}
    {%- set rejects = tidemark.side_relation(cfg['target'], 'rejects') -%}
    {%- set lengths = tidemark.retention_lengths(cfg, retention) -%}
    {%- set steps = [] -%}
    {%- if is_atomic and cfg['manifest'] is none and tidemark.claims_expire(cfg) and tidemark.relation_exists(opened['relations']['manifest']) -%}
        {%- set horizon = tidemark.query_rows(tidemark.claims_horizon_sql(cfg, commits['view']))[0]['horizon'] -%}
        {%- if horizon is not none -%}
            {%- do steps.append({'relation': opened['relations']['manifest'], 'what': 'expired claims', 'condition': 'expires_at < timestamp_micros(' ~ horizon ~ ')'}) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if 'rejects' in lengths and tidemark.relation_exists(rejects) -%}
        {%- set horizon = tidemark.query_rows(tidemark.clean_state_sql(commits['states'], opened['events'], {'rejects': lengths['rejects']}))[0]['rejects_horizon'] -%}
        {%- do steps.append({'relation': rejects, 'what': 'rejects', 'condition': '_commit_id <= ' ~ horizon}) -%}
    {%- endif -%}
    {%- set removed = {} -%}
    {%- for step in steps -%}
        {%- set count = tidemark.row_count(step['relation'], step['condition']) -%}
        {%- do tidemark.say(cfg['entity'], (('would remove ' if dry_run else 'removing ') ~ count if count else 'has no') ~ ' ' ~ step['what'] ~ (' of ' if count else ' to be removed from ') ~ step['relation'].identifier) -%}
        {%- if count and not dry_run -%}
            {%- do run_query('delete from ' ~ step['relation'] ~ ' where ' ~ step['condition']) -%}
            {%- do removed.update({step['relation'].identifier ~ ': ' ~ step['what']: count}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if vacuum -%}{%- do tidemark.vacuum_or_tell(cfg['entity'], tidemark.enriched_tables(opened, rejects), dry_run) -%}{%- endif -%}
    {%- if removed or (vacuum and not dry_run) -%}
        {%- set record = tidemark.operation_commit(opened, 'clean') -%}
        {%- do record.update({'details': tojson({'retention': lengths, 'removed': removed, 'vacuum': vacuum})}) -%}
        {%- do tidemark.record_commit(commits, record, 'completed', {}) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The tables that are there of enriched events, or of entities of a schema. A manifest that others share is one of them. -#}
{%- macro enriched_tables(opened, rejects) -%}
    {%- set found = [] -%}
    {%- for relation in (opened['relations'].values() | list if 'relations' in opened else [opened['cfg']['target'], rejects]) if tidemark.relation_exists(relation) -%}
        {%- do found.append(relation) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- What clean_enriched() needs of a `materialized: shred` model; its rows have the commits of the events that it read last. -#}
{%- macro open_shred(node) -%}
    {%- do tidemark.check_loads(node['name']) -%}
    {%- set cfg = tidemark.shred_config(node) -%}
    {%- set run = tidemark.run_config() -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set events = run_query('select max_by(source_relation, commit_id) from ' ~ commits['view'] ~ " where kind = 'shred' and relation = " ~ tidemark.string_literal(cfg['relation']))[0][0] -%}
    {{ return({'cfg': cfg, 'run': run, 'commits': commits, 'state': tidemark.entity_state(commits, cfg['relation'], run), 'events': events or ''}) }}
{%- endmacro -%}
