{#- Whether the engine in the workers tries a batch; else why not is told. -#}
{%- macro workers_take_enriched(opened, body) -%}
    {%- if not tidemark.tries_workers(opened, body, 'enriched.covers.why_not_enriched') -%}{{ return(false) }}{%- endif -%}
    {%- if opened['state']['first'] and opened['cfg']['on_reject'] == 'fail' -%}
        {%- do tidemark.leave_to_spark(opened, 'on_reject is fail, and there are no tables yet') -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(true) }}
{%- endmacro -%}

{#- Have a batch read, judged, compared with the manifest and written in the workers, where no commit names it yet. The tables
    that it is written to are made first. None where the workers do not take it: nothing is left of it then. -#}
{%- macro stage_batch_in_workers(opened, source) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- do tidemark.enriched__prepare(opened) -%}
    {%- set commit_id = tidemark.next_commit_id(opened['state']['last_id']) -%}
    {%- set staged = adapter.stage_batch(dict(cfg, undone=opened['state']['undone'], most_rejects=tidemark.most_rejects(cfg, opened['run'])), source['files'], commit_id, relations) -%}
    {%- if staged is string -%}{{ return(tidemark.leave_to_spark(opened, staged)) }}{%- endif -%}
    {{ return(dict(
        tidemark.batch_to_load(opened, commit_id, staged.figures), source=source, cfg=cfg, uncommitted=staged, is_prepared=true,
        rejects={'units': ['line', 'lines'], 'of': '', 'samples': none, 'advice': 'Mend the files',
            'reasons': staged.reasons}
    )) }}
{%- endmacro -%}

{#- What the workers wrote, as the steps after derive take it: claims are made with what lies beside the events. -#}
{%- macro derived_by_workers(opened, staged, versions) -%}
    {%- set load, written = staged['load'], staged['uncommitted'] -%}
    {%- set rows = written.kinds.items() | list -%}
    {%- set figures = dict(staged['figures'], **tidemark.counts_of_kinds(staged['figures'], rows)) -%}
    {%- do tidemark.check_staged(opened['cfg'], written, figures['rows_inserted']) -%}
    {{ return({
        'outcome': 'commit', 'load': load, 'figures': figures, 'files': staged['source']['files'], 'beside': [], 'uncommitted': written,
        'numbers': dict(versions, etl_tstamp=tidemark.utc_text_of_micros(load['etl_micros']) if load['etl_micros'] is not none else none),
        'log_sql': figures['rows_inserted'] > 0,
    }) }}
{%- endmacro -%}
