{#- Which events of a batch are stored: claims are made in the manifest first, checked and set in one statement, so the commit
    is in flight from here on. -#}
{%- macro enriched__derive(opened, staged, commit) -%}
    {%- set relations = opened['relations'] -%}
    {%- set versions = {'current_version_before': tidemark.table_version(opened['cfg']['file_format'], relations['current'])} -%}
    {%- if staged.get('uncommitted') -%}{{ return(tidemark.derived_by_workers(opened, staged, versions)) }}{%- endif -%}
    {%- set cfg, load, keys, events = staged['cfg'], staged['load'], staged['keys'], staged['events'] -%}
    {%- set seen = staged['figures'] -%}
    {%- do tidemark.record_commit(opened['commits'], commit, 'inflight', dict(versions, rows_read=seen['rows_read'], rows_rejected=seen['rows_rejected'])) -%}
    {%- set has_events = load['etl_micros'] is not none -%}
    {%- set manifest = relations['manifest'] if cfg['looks_across'] and has_events else none -%}
    {%- if manifest -%}
        {%- do run_query(tidemark.claim_events_sql(cfg, manifest, keys, load)) -%}
    {%- endif -%}
    {%- set decided = tidemark.make_slice(cfg['target'], load['commit_id'], 'decided', tidemark.decided_events_sql(cfg, keys, manifest, load)) -%}
    {%- set figures = dict(seen, **tidemark.counts_of_kinds(seen, run_query('select _kind, count(*) from ' ~ decided ~ ' group by _kind'))) -%}
    {%- set statements = tidemark.beside_enriched(relations, staged, figures, decided) -%}
    {#- Should this run die after its events are stored, the next one completes the commit with the numbers that are recorded now. -#}
    {{ return({
        'outcome': 'commit', 'load': load, 'figures': figures, 'files': staged['source']['files'], 'beside': statements,
        'numbers': dict(versions, etl_tstamp=tidemark.utc_text_of_micros(load['etl_micros']) if has_events else none),
        'log_sql': tidemark.for_format(cfg['file_format'], 'append_events')(
            relations['current'], tidemark.atomic_columns(), tidemark.atomic_rows_sql(cfg, events, decided, load), last=load['last_commit_id']
        ) if figures['rows_inserted'] else none,
    }) }}
{%- endmacro -%}

{#- Lines that cannot be used, and entities: they count once the events are stored. -#}
{%- macro beside_enriched(relations, staged, figures, decided) -%}
    {%- set load, source = staged['load'], staged['source'] -%}
    {%- set append = tidemark.for_format(staged['cfg']['file_format'], 'append_events') -%}
    {%- set statements = [] -%}
    {%- if figures['rows_rejected'] -%}
        {%- do statements.extend(append(relations['rejects'], tidemark.rejected_line_columns(),
            'select *, ' ~ load['commit_id'] ~ ' as _commit_id from ('
            ~ tidemark.rejected_lines_sql(source['arrived'], staged['keys'], tidemark.raw_payload_expr(source['columns'])) ~ ')\nwhere '
            ~ tidemark.still_inflight_expr(load), '_raw_payload')) -%}
    {%- endif -%}
    {%- if figures['rows_inserted'] -%}
        {%- do statements.extend(append(relations['entities'], tidemark.entity_columns(),
            tidemark.entity_rows_sql(staged['cfg'], staged['events'], decided, load), 'hierarchy.root_id')) -%}
    {%- endif -%}
    {{ return(statements) }}
{%- endmacro -%}

{#- Atomic events, which are the log of this family. -#}
{%- macro enriched__append(opened, plan, derived) -%}
    {%- set current = opened['relations']['current'] -%}
    {%- do tidemark.run_statements(derived['log_sql']) -%}
    {%- set written = run_query('select count(*) from ' ~ current ~ ' where _commit_id = ' ~ derived['load']['commit_id'])[0][0] | int -%}
    {%- do tidemark.check_written(opened['cfg'], current, derived['figures']['rows_inserted'], written,
        'Go back with dbt run-operation rollback, and run again') -%}
{%- endmacro -%}

{#- Numbers of a batch by what became of its lines: read = inserted + duplicate + rejected. -#}
{%- macro counts_of_kinds(figures, rows) -%}
    {%- set kinds = {} -%}
    {%- for row in rows -%}
        {%- do kinds.update({row[0]: row[1] | int}) -%}
    {%- endfor -%}
    {%- set counts = {} -%}
    {%- for step in tidemark.deduplication_steps() -%}
        {%- do counts.update({'rows_' ~ step: kinds.get(step, 0)}) -%}
    {%- endfor -%}
    {%- set dropped = counts['rows_natural_in_batch'] + counts['rows_natural_cross_batch'] -%}
    {{ return(dict(counts, rows_duplicate=dropped, rows_inserted=figures['rows_read'] - figures['rows_rejected'] - dropped)) }}
{%- endmacro -%}
