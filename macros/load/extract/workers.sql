{#- The source as the engine in the workers reads it, with `files`, `fields` and `separator`; none where Spark has to. Of the files
    nothing but the first line, or the footer, was read so far. -#}
{%- macro source_of_workers(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if not tidemark.tries_workers(opened, body, 'tidemark.engine.covers.why_not') -%}{{ return(none) }}{%- endif -%}
    {%- set files = adapter.list_files(tidemark.extract_path(cfg['location'], run['business_date'])) -%}
    {%- if not files -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.check_lines(cfg, files) -%}
    {%- set separator = adapter.call_function('tidemark.engine.covers.separator_of', cfg['options']) -%}
    {%- set reader, given = {
        'csv': ('header_of', [separator]), 'parquet': ('footer_of', []), 'json': ('members_of', [cfg['columns'] | map(attribute='name') | list]),
    }[cfg['format']] -%}
    {%- set header = adapter.call_function('tidemark.engine.header.' ~ reader, files, *given) -%}
    {%- if header.get('why_not') -%}{{ return(tidemark.leave_to_spark(opened, header['why_not'])) }}{%- endif -%}
    {%- set columns = [] -%}
    {%- for name in header['names'] -%}
        {%- do columns.append({'name': name, 'type': header['types'][loop.index0]}) -%}
    {%- endfor -%}
    {%- if cfg['format'] != 'parquet' -%}{%- do columns.append({'name': '_unreadable', 'type': 'string'}) -%}{%- endif -%}
    {{ return({
        'parts': ['all'], 'body': body, 'columns': columns, 'fields': header['names'], 'file_names': header.get('found', header['names']),
        'origin': tidemark.origin_of_extract(cfg, run), 'files': header['paths'], 'stamps': header['stamps'], 'separator': separator,
    }) }}
{%- endmacro -%}

{#- Compare the extract of a date with what stood before it in the workers, and have them write what changed where no commit
    names it yet. None where they do not take this load: whatever the reason, nothing is left of it. -#}
{%- macro stage_in_workers(opened, source) -%}
    {%- set cfg, run, state, relations = opened['cfg'], opened['run'], opened['state'], opened['relations'] -%}
    {%- set plan = tidemark.plan_extract(opened, source) -%}
    {%- set load = dict(tidemark.plan_load(cfg, run, state), log_version=state['log_version']) -%}
    {%- set is_last = load['this_commit_id'] is not none and load['business_date'] == state['last_date'] and cfg['extract'] == 'full' -%}
    {%- if load['kind'] != 'load' or not (load['forward'] or is_last) -%}
        {{ return(tidemark.leave_to_spark(opened, 'the date is not after all others')) }}
    {%- elif not state['first'] and (tidemark.alters_tables(opened, plan) or plan['compared'] | selectattr('source_name', 'none') | list) -%}
        {{ return(tidemark.leave_to_spark(opened, 'its columns have changed')) }}
    {%- elif not state['first'] and cfg['extract'] == 'delta' and not tidemark.had_deltas(state['recorded']) -%}
        {{ return(tidemark.leave_to_spark(opened, 'it is the first delta')) }}
    {%- elif load['rebuild'] -%}
        {{ return(tidemark.leave_to_spark(opened, 'current is written again, as tag_unchanged or soft_delete changed')) }}
    {%- elif is_last -%}
        {{ return(tidemark.look_again_in_workers(opened, source, plan, load)) }}
    {%- endif -%}
    {%- set staged = adapter.keep_extract(cfg, plan, load, source, relations) if state['first']
        else adapter.stage_extract(cfg, plan, load, source, relations) -%}
    {%- if staged is string -%}{{ return(tidemark.leave_to_spark(opened, staged)) }}{%- endif -%}
    {%- set figures = staged.figures -%}
    {{ return({
        'plan': plan, 'rejects': {},
        'load': dict(load, mends_rejects=false, existing=none),
        'uncommitted': none if state['first'] else staged,
        'kept': staged if state['first'] else none,
        'figures': dict(
            figures, rows_logged=figures['rows_inserted'] + figures['rows_updated'] + figures['rows_deleted'], rows_superseded=0
        ),
    }) }}
{%- endmacro -%}

{#- The extract of the last date again: of one that is as current has it, which is how that date ended, the log has all that it brings.
    Its figures are those that a load of the date has by what stood before it. None where it has changes or rejects, or had. -#}
{%- macro look_again_in_workers(opened, source, plan, load) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set found = adapter.compare_again(cfg, plan, load, source, relations) -%}
    {%- if found is string -%}{{ return(tidemark.leave_to_spark(opened, found)) }}{%- endif -%}
    {%- set had_rejects = tidemark.file_count(cfg['file_format'], relations['rejects']) > 0 and tidemark.has_rows(
        relations['rejects'], tidemark._loads_expr([{'business_date': load['business_date'], 'commit_id': load['this_commit_id']}])
    ) -%}
    {%- if had_rejects -%}{{ return(tidemark.leave_to_spark(opened, 'the last date had rejects')) }}{%- endif -%}
    {%- set deleted = found['rows_deleted'] -%}
    {{ return({
        'plan': plan, 'load': load, 'uncommitted': none, 'kept': none, 'rejects': {}, 'is_repeat': true,
        'figures': dict(
            found, rows_logged=0, rows_superseded=0,
            here={'inserted': found['rows_inserted'], 'deleted': deleted, 'deleted_again': deleted, 'gone': 0},
        ),
    }) }}
{%- endmacro -%}
