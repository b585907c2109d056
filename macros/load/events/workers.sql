{#-
    What has landed as the engine in the workers replays it: read, typed, told apart, put onto what stands, and written where
    no commit names it yet, all in one part. None where Spark has to: whatever the reason, nothing is left of the attempt.
-#}
{%- macro events_of_workers(opened, body, files) -%}
    {%- set cfg, run, state = opened['cfg'], opened['run'], opened['state'] -%}
    {%- if not files or tidemark.engine_of(opened) == 'spark' or not tidemark.can('run_workers') or run['empty'] or run['full_refresh'] -%}{{ return(none) }}{%- endif -%}
    {%- set why = 'the model has a SELECT of its own' if tidemark.has_own_select(cfg, body)
        else adapter.call_function('tidemark.engine.covers.why_not', cfg) or tidemark._why_not_state(opened) -%}
    {%- if not why and tidemark.engine_of(opened) == 'auto' and adapter.is_on_cluster() -%}
        {%- set why = "the session has a cluster, whose nodes may not share files: engine: workers says that they do" -%}
    {%- endif -%}
    {%- if why -%}{{ return(tidemark.leave_to_spark(opened, why)) }}{%- endif -%}
    {%- set landed = adapter.call_function('tidemark.engine.events.load.landed_of', files) -%}
    {%- if landed is string -%}{{ return(tidemark.leave_to_spark(opened, landed)) }}{%- endif -%}

    {%- set batch = tidemark._declared_batch(opened) -%}
    {%- set stretch = {'from': none, 'to': none, 'is_first': true, 'is_last': true} -%}
    {%- set plan = tidemark.plan_stretch(opened, {'columns': none}, batch, stretch) -%}
    {%- if tidemark._alters_tables(opened, plan) -%}{{ return(tidemark.leave_to_spark(opened, 'its columns have changed')) }}{%- endif -%}
    {%- set load = dict(
        tidemark.plan_event_load(opened, plan, batch, stretch), log_version=state['log_version'], late=false, forward=true, staged=none
    ) -%}
    {%- set source = {'landed': landed, 'tables': batch['tables'], 'first': state['first'], 'has_moves': plan['recorded']['source']['has_moves']} -%}
    {%- set staged = adapter.keep_events(cfg, plan, load, source) if state['first']
        else adapter.stage_events(cfg, plan, load, source, opened['relations']) -%}
    {%- if staged is string -%}{{ return(tidemark.leave_to_spark(opened, staged)) }}{%- endif -%}
    {%- set told = dict(plan['recorded']['source'], has_moves=source['has_moves'] or staged.figures['has_moves'] > 0) -%}
    {{ return({'parts': [stretch], 'staged': {
        'plan': dict(plan, recorded=dict(plan['recorded'], source=told)), 'load': load, 'files': files, 'rejects': {},
        'figures': dict(tidemark.no_event_figures(), **dict({'first_sequence_num': none, 'last_sequence_num': none}, **staged.figures)),
        'uncommitted': none if state['first'] else staged,
        'kept': staged if state['first'] else none,
    }}) }}
{%- endmacro -%}


{#- Why what was recorded of earlier loads leaves this one to Spark, or none. -#}
{%- macro _why_not_state(opened) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set source = {} if state['first'] else state['recorded'].get('source') or {} -%}
    {%- set known = [] if state['first'] else state['recorded']['columns'] | map(attribute='name') | list -%}
    {%- for name in cfg['columns'] | rejectattr('data_type') | map(attribute='name') | list + cfg['keys'] + cfg['ignore']
        if name not in known and name not in cfg['columns'] | selectattr('data_type') | map(attribute='name') | list -%}
        {{ return('column ' ~ name ~ ' has no data_type') }}
    {%- endfor -%}
    {%- if not known and not cfg['columns'] -%}{{ return('the YAML declares no columns') }}{%- endif -%}
    {%- if source.get('columns') or source.get('refused') -%}{{ return('a DDL event tells its columns') }}{%- endif -%}
    {%- if not state['first'] and state['log_version'] is none -%}{{ return('its log cannot be written by it') }}{%- endif -%}
    {{ return(none) }}
{%- endmacro -%}


{#- A batch of events without schemas that bring the columns that are declared: the workers see whether these do. -#}
{%- macro _declared_batch(opened) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set source = {} if state['first'] else state['recorded'].get('source') or {} -%}
    {%- set names = cfg['columns'] | map(attribute='name') | list -%}
    {{ return({
        'tables': source.get('tables') or ([cfg['table']] if cfg['table'] else []), 'ignored': 0,
        'names': names + ([] if state['first'] else state['recorded']['columns'] | map(attribute='name') | reject('in', names) | list),
        'schemas': {}, 'has_schemaless': true, 'first_nums': {}, 'is_empty': false, 'statements': [],
        'source_columns': source.get('columns'), 'refused': [], 'renames': {}, 'reorders': false,
        'by_content': source.get('by_content', false),
        'identifying': tidemark.identifying_names(cfg, none, none if state['first'] else state['recorded']),
    }) }}
{%- endmacro -%}


{#- Whether tables of an entity that has a log are to have other columns, or current is to be written anew, before they take a load. -#}
{%- macro _alters_tables(opened, plan) -%}
    {%- set cfg, recorded = opened['cfg'], opened['state']['recorded'] -%}
    {%- if opened['state']['first'] -%}{{ return(false) }}{%- endif -%}
    {%- for column in plan['columns'] if column['recorded_type'] != column['type'] -%}{{ return(true) }}{%- endfor -%}
    {{ return(
        plan['gone'] | length > 0 or not recorded.get('marks_rejects') or recorded.get('views_are_old', false)
        or recorded['soft_delete'] != cfg['soft_delete'] or recorded.get('write_mode', 'copy_on_write') != cfg['write_mode']
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
