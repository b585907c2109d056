{#- What a batch's events are told apart by, and which lines cannot be used. -#}
{%- macro enriched__stage(opened, source, part) -%}
    {%- if not source.get('by_workers') -%}{{ return(tidemark.stage_batch_by_spark(opened, source)) }}{%- endif -%}
    {{ return(
        tidemark.stage_batch_in_workers(opened, source) or tidemark.stage_batch_by_spark(opened, tidemark.view_enriched(opened, source))
    ) }}
{%- endmacro -%}

{#- The keys of a batch's events, each a few columns wide, told apart from lines that cannot be used. -#}
{%- macro stage_batch_by_spark(opened, source) -%}
    {%- set cfg = dict(opened['cfg'], is_rows=source['is_rows']) -%}
    {%- set commit_id = tidemark.next_commit_id(opened['state']['last_id']) -%}
    {%- set events = tidemark.run_view(cfg['target'], 'events') -%}
    {%- do tidemark.make_view(events, (
        tidemark.enriched_rows_sql(source['arrived'], source['columns'], cfg['fingerprint_ignore']) if source['is_rows'] else tidemark.enriched_events_sql(source['arrived'])
    )) -%}
    {%- set keys = tidemark.make_slice(cfg['target'], commit_id, 'keys', tidemark.event_keys_sql(cfg, events)) -%}
    {%- set figures = tidemark.query_rows(tidemark.batch_figures_sql(keys))[0] -%}
    {{ return(dict(
        tidemark.batch_to_load(opened, commit_id, figures), source=source, cfg=cfg, events=events, keys=keys,
        rejects={'units': ['line', 'lines'], 'of': '', 'rows': keys, 'samples': none, 'advice': 'Mend the files'}
    )) }}
{%- endmacro -%}

{#- What is recorded of a batch and what it is loaded with, from its figures: {plan, load, figures}. -#}
{%- macro batch_to_load(opened, commit_id, figures) -%}
    {%- set cfg = opened['cfg'] -%}
    {{ return({
        'plan': {'recorded': {
            'flow': 'atomic', 'fingerprint_ignore': cfg['fingerprint_ignore'], 'deduplicate': cfg['deduplicate'], 'file_format': cfg['file_format'],
            'layout': tidemark.recorded_layout(cfg),
            'manifest': opened['relations']['manifest'] | string if cfg['looks_across'] else none,
        }},
        'load': {
            'commit_id': commit_id,
            'kind': 'full_refresh' if opened['state']['replaces'] else 'load',
            'business_date': opened['run']['business_date'], 'forward': true, 'is_last': true, 'log_version': none,
            'states': opened['commits']['states'], 'relation': cfg['relation'],
            'last_commit_id': opened['state']['last_commit_id'], 'undone': opened['state']['undone'],
            'etl_micros': figures['etl_micros'], 'first_etl_micros': figures['first_etl_micros'],
        },
        'figures': figures,
    }) }}
{%- endmacro -%}
