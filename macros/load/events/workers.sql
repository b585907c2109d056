{#- What has landed as the engine in the workers replays it: read, typed, told apart, put onto what stands, and written where
    no commit names it yet, all in one part. None where Spark has to: whatever the reason, nothing is left of the attempt. -#}
{%- macro events_of_workers(opened, body, files) -%}
    {%- set cfg, run, state = opened['cfg'], opened['run'], opened['state'] -%}
    {%- if not files or not tidemark.tries_workers(opened, body, 'tidemark.engine.covers.why_not') -%}{{ return(none) }}{%- endif -%}
    {%- set landed = adapter.call_function('tidemark.engine.events.load.landed_of', files) -%}
    {%- if landed is string -%}{{ return(tidemark.leave_to_spark(opened, landed)) }}{%- endif -%}
    {#- a canonical event wraps nothing -#}
    {%- set sifted = none if cfg['format'] == 'canonical' else adapter.sift_events(landed, tidemark.tables_of(opened)) -%}
    {%- if sifted is string -%}{{ return(tidemark.leave_to_spark(opened, sifted)) }}{%- endif -%}
    {%- set batch = tidemark._batch_to_come(opened, sifted) -%}
    {%- if batch is string -%}{{ return(tidemark.leave_to_spark(opened, batch)) }}{%- endif -%}

    {%- set stretch = {'from': none, 'to': none, 'is_first': true, 'is_last': true} -%}
    {%- set plan = tidemark.plan_stretch(opened, {'columns': none}, batch, stretch) -%}
    {%- if tidemark._alters_tables(opened, plan) -%}{{ return(tidemark.leave_to_spark(opened, 'its columns have changed')) }}{%- endif -%}
    {%- set load = dict(
        tidemark.plan_event_load(opened, plan, batch, stretch), log_version=state['log_version'], late=false, forward=true, staged=none
    ) -%}
    {%- if load['statements'] -%}{{ return(tidemark.leave_to_spark(opened, 'a column with a default is new at the source')) }}{%- endif -%}
    {%- set source = {'landed': landed, 'sifted': sifted.files if sifted else [], 'tables': batch['tables'], 'named': batch['named'], 'first': state['first'], 'has_moves': plan['recorded']['source']['has_moves']} -%}
    {%- set staged = adapter.keep_events(cfg, plan, load, source, opened['relations']) if state['first']
        else adapter.stage_events(cfg, plan, load, source, opened['relations']) -%}
    {%- if staged is string -%}{{ return(tidemark.leave_to_spark(opened, staged)) }}{%- endif -%}
    {%- set told = dict(
        plan['recorded']['source'], has_moves=source['has_moves'] or staged.figures['has_moves'] > 0,
        named=tidemark.named_tables(batch, [{'_table_name': staged.of_table}]),
        told=tidemark._told_to_workers(opened, plan, batch, staged.figures)
    ) -%}
    {{ return({'parts': [stretch], 'staged': {
        'plan': dict(plan, recorded=dict(plan['recorded'], source=told)), 'load': load, 'files': files, 'rejects': {},
        'figures': dict(tidemark.no_event_figures(), **dict({'first_sequence_num': none, 'last_sequence_num': none}, **staged.figures)),
        'uncommitted': none if state['first'] else staged,
        'kept': staged if state['first'] else none,
    }}) }}
{%- endmacro -%}

{#- A batch of events that bring the columns that their schema tells, or, without one, those that are declared: the workers
    see whether these do. A text: why Spark has to look. -#}
{%- macro _batch_to_come(opened, sifted) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set recorded = {} if state['first'] else state['recorded'] -%}
    {%- set source = recorded.get('source') or {} -%}
    {%- set schemas, first_nums = {}, {} -%}
    {%- for id, text in (sifted.schemas if sifted else {}).items() -%}
        {%- do schemas.update({id: tidemark.connect_columns(tidemark._row_fields(text))}) -%}
        {#- there is but one: whether it shows a new column is asked, not where -#}
        {%- do first_nums.update({id: 0}) -%}
    {%- endfor -%}
    {%- set known = recorded.get('columns', []) | map(attribute='name') | list -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | list -%}
    {#- in the order in which Spark tells the members of an object -#}
    {%- set told = schemas.values() | first | default([]) | map(attribute='name') | list -%}
    {%- set typed = known + told + cfg['columns'] | selectattr('data_type') | map(attribute='name') | list -%}
    {%- if schemas.values() | list | map('tojson') | unique | list | length > 1 or (schemas and sifted.has_schemaless) -%}
        {{ return('its events have several schemas') }}
    {%- elif not typed -%}
        {{ return('the YAML declares no columns') }}
    {%- elif source.get('refused') or (source.get('columns') and not schemas) -%}
        {{ return('a DDL event tells its columns') }}
    {%- elif not state['first'] and state['log_version'] is none -%}
        {{ return('its log cannot be written by it') }}
    {%- elif source.get('open_snapshot') is not none -%}
        {{ return('a snapshot is still to be ended') }}
    {%- elif tidemark.reorders_ties(opened) -%}
        {{ return('events of one place are put in another order') }}
    {%- endif -%}
    {%- for name in declared + cfg['keys'] + cfg['ignore'] if name not in typed -%}
        {{ return('column ' ~ name ~ ' has no data_type') }}
    {%- endfor -%}
    {{ return({
        'tables': tidemark.tables_of(opened), 'named': source.get('named', []), 'followed': source.get('followed', []), 'ignored': 0, 'names': told | sort(case_sensitive=true) or (declared + known) | unique | list,
        'schemas': schemas, 'has_schemaless': not schemas, 'first_nums': first_nums, 'is_empty': false,
        'statements': [], 'source_columns': source.get('columns'), 'refused': [], 'renames': {}, 'reorders': false,
        'by_content': source.get('by_content', false),
        'identifying': tidemark.identifying_names(cfg, none, none if state['first'] else recorded),
    }) }}
{%- endmacro -%}

{#- told_names() of a batch that went by the workers: without a schema its images tell, which have all columns of the plan or the key alone. -#}
{%- macro _told_to_workers(opened, plan, batch, figures) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- if cfg['format'] != 'debezium' -%}{{ return(none) }}{%- endif -%}
    {%- set came = plan['keys'] if figures['rows_read'] > figures['rows_ignored'] else [] -%}
    {%- set came = plan['columns'] if figures['has_whole_rows'] else came -%}
    {%- set names = batch['names'] if batch['schemas'] else came | map(attribute='name') | list -%}
    {{ return(tidemark.told_names(dict(batch, names=names), none if state['first'] else state['recorded'])) }}
{%- endmacro -%}

{#- Whether tables of an entity that has a log are to have other columns, or current is to be written anew, before they take a load. -#}
{%- macro _alters_tables(opened, plan) -%}
    {%- set cfg, recorded = opened['cfg'], opened['state']['recorded'] -%}
    {%- if opened['state']['first'] -%}{{ return(false) }}{%- endif -%}
    {%- for column in plan['columns'] if column['recorded_type'] != column['type'] -%}{{ return(true) }}{%- endfor -%}
    {{ return(
        plan['gone'] | length > 0 or not recorded.get('marks_rejects') or recorded.get('views_are_old', false)
        or recorded['soft_delete'] != cfg['soft_delete'] or recorded.get('write_mode', 'copy_on_write') != cfg['write_mode']
        or tidemark.freed_columns(opened, plan) | length > 0
    ) }}
{%- endmacro -%}

{#- The files that the workers wrote of a batch, in the place of what replay() returns. -#}
{%- macro replayed_by_workers(opened, staged, load) -%}
    {%- set written = tidemark.files_of_workers(opened, staged, load) -%}
    {%- set counts = {'rows_superseded': 0} -%}
    {%- for name in tidemark.figures_of_events() -%}
        {%- do counts.update({name: written.figures[name]}) -%}
    {%- endfor -%}
    {{ return({'rows': none, 'slice': none, 'uncommitted': written, 'counts': counts}) }}
{%- endmacro -%}
