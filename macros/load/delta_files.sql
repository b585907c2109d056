{#- Whether the adapter can work with the files of an entity's tables: read them by Delta's list, write them before a commit names them. -#}
{%- macro has_delta_files(cfg) -%}
    {{ return(tidemark.can('write_delta_files') and cfg['file_format'] == 'delta') }}
{%- endmacro -%}

{#- A table as it is now, to be read from in this run: a view of its files where the adapter can make one, which spares Spark the jobs
    that plan a scan; else the table. What is a view already stays one. -#}
{%- macro as_it_is(cfg, relation, name) -%}
    {%- if relation is string -%}{{ return(relation) }}{%- endif -%}
    {%- set view = tidemark.run_view(cfg['target'], name ~ '_now') -%}
    {{ return(view if tidemark.has_delta_files(cfg) and adapter.view_small_table(relation, view) else relation) }}
{%- endmacro -%}

{#- Whether a table is so small that to plan a MERGE takes longer than to write it all. Not where a change data feed shows what was
    written, nor where deletion vectors were asked for. -#}
{%- macro is_written_at_once(cfg, relation) -%}
    {%- set most = 8 * 1024 * 1024 -%}
    {%- if not tidemark.has_delta_files(cfg) or cfg['write_mode'] != 'copy_on_write'
        or (cfg['table_properties'] or {}).get('delta.enableChangeDataFeed') -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set bytes = adapter.listed_bytes(relation) -%}
    {{ return(bytes is not none and bytes <= most) }}
{%- endmacro -%}

{#- Whether what a load adds to the log can be written there before its commit: only rows to append, nothing beside them. -#}
{%- macro can_stage_changes(plan, load) -%}
    {{ return(load['forward'] and load['log_version'] is not none and not plan['sensitive']) }}
{%- endmacro -%}

{#- As many rows were written as were counted on the way. -#}
{%- macro check_staged(cfg, staged, counted) -%}
    {%- if counted != staged.rows -%}
        {%- do adapter.discard_rows(staged) -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ counted ~ ' changes were counted but ' ~ staged.rows ~ ' were written, as happens where Spark repeats a part '
            ~ 'of its work; nothing was committed. Run it again'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Rows of a view or table as files of the log that no commit names yet; `figures` are counted on the way. -#}
{%- macro staged_log_rows(opened, plan, load, rows, figures) -%}
    {{ return(adapter.stage_rows(
        tidemark.write_relations(opened)['log'], load['log_version'], 'select\n    ' ~ tidemark.column_list_expr(tidemark.slice_columns(plan)) ~ '\nfrom ' ~ rows,
        figures, 'select *, ' ~ load['commit_id'] ~ ' as _commit_id from {counted}'
    )) }}
{%- endmacro -%}

{#- The version of the log that rows are appended to, or none where they are not staged. A log that was made for this load has its first
    one: any other means that another first run was faster. -#}
{%- macro version_to_append(opened, load) -%}
    {%- set log = tidemark.write_relations(opened)['log'] -%}
    {%- if not tidemark.has_delta_files(opened['cfg']) or opened['run'].get('dry_run') -%}
        {{ return(none) }}
    {%- elif not opened['state']['first'] -%}
        {{ return(load['log_version']) }}
    {%- elif adapter.table_version(log) != 0 -%}
        {%- do tidemark.raise_error('data',
            opened['cfg']['entity'] ~ ': another run has written to ' ~ log ~ ' since this one began, so this one wrote nothing. Run it again'
        ) -%}
    {%- endif -%}
    {{ return(0) }}
{%- endmacro -%}
