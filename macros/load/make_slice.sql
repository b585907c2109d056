{#- Rows of this run as a table, `name` of its own in the run. It has the commit's number, because a killed run may have left the folder
    of its slice behind, and ends in whose it is. A table rather than a cached view: it is read many times, and Spark would plan the view
    again each time. drop_slices() takes it away, clear_slices() what is no table yet.
    Where the workers can work it out it is a view of the file that they write. -#}
{%- macro make_slice(current, commit_id, name, sql) -%}
    {%- set view = tidemark.run_view(current, 'slice_' ~ name) -%}
    {%- if tidemark.can('run_workers') and adapter.keep_view(view, sql) -%}{{ return(view) }}{%- endif -%}
    {%- set slice = tidemark.side_relation(current, 'slice_' ~ commit_id ~ '_' ~ name ~ tidemark.whose_slices()) -%}
    {%- do run_query('create table ' ~ slice ~ ' using parquet as\n' ~ sql) -%}
    {{ return(slice) }}
{%- endmacro -%}

{#- Rows that are read several times, worked out once: as a slice, or where they have sensitive values, which are written nowhere but to
    their own table, as a cached view. -#}
{%- macro kept_rows(cfg, plan, load, name, sql) -%}
    {%- if not plan['sensitive'] -%}{{ return(tidemark.make_slice(cfg['target'], load['commit_id'], name, sql)) }}{%- endif -%}
    {{ return(tidemark.make_view(tidemark.run_view(cfg['target'], name), sql, true)) }}
{%- endmacro -%}

{#- A temporary view; where it `is_kept`, its rows are kept from its first reading on. The adapter plans what reads it with those rows,
    where after Spark's own statement each reader costs as much as planning all that lies below. -#}
{%- macro make_view(view, sql, is_kept=false) -%}
    {%- if tidemark.can('cache_views') -%}
        {%- do adapter.make_view(view, sql, is_kept) -%}
    {%- else -%}
        {%- do run_query('drop view if exists ' ~ view) -%}
        {%- do run_query('create or replace temporary view ' ~ view ~ ' as\n' ~ sql) -%}
        {%- if is_kept -%}{%- do run_query('cache lazy table ' ~ view) -%}{%- endif -%}
    {%- endif -%}
    {{ return(view) }}
{%- endmacro -%}

{#- Drop the views, caches and slices of this model's run, also those that a failed run left. -#}
{%- macro forget_run_views(current) -%}
    {%- set ours = tidemark.run_view(current, '')[1:-1].replace('``', '`') -%}
    {#- Those of a model whose name begins with this one's are its own; a view's own name has no two underscores. -#}
    {%- if tidemark.can('cache_views') -%}
        {%- do adapter.forget_views(ours) -%}
    {%- else -%}
        {%- for row in run_query('show views like ' ~ tidemark.string_literal(ours ~ '*')) if '__' not in row[1][ours | length:] -%}
            {%- do run_query('drop view if exists ' ~ tidemark.quote_identifier(row[1])) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do tidemark.drop_slices(current) -%}
{%- endmacro -%}

{#- Drop the slices of runs, also those that a failed run left. Where other processes share the metastore one of them may be reading
    its own, and a table whose files go just then has no rows to Spark: there those of others are left for a day, unless `whose` is all. -#}
{%- macro drop_slices(current, whose='dead') -%}
    {%- set slices = tidemark.side_relation(current, 'slice_*') -%}
    {%- set begins = slices.identifier[:-1] -%}
    {%- set are_shared = whose != 'all' and not tidemark.is_only_process() -%}
    {%- set day_ago = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=1) -%}
    {%- set dead, old = [], [] -%}
    {%- for name in tidemark.table_names(slices.include(identifier=false), slices.identifier) -%}
        {%- set slice = tidemark.side_relation(current, name[current.identifier | length + 2:]) -%}
        {%- if not are_shared or name.endswith(tidemark.whose_slices()) -%}
            {%- do dead.append(slice) -%}
        {%- elif name[begins | length:][:15] < day_ago.strftime('%y%m%d%H%M%S%f') -%}
            {%- do old.append(slice) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for slice in dead + tidemark.idle_slices(current, old) -%}{%- do tidemark.drop_table(slice) -%}{%- endfor -%}
{%- endmacro -%}

{#- Of slices that by their names are old, those whose files are, too: their number and this process may be of clocks that are a day
    apart, but the times of files are of the one that keeps them, and a file that is written now tells what it shows. One without rows has
    nothing to lose. -#}
{%- macro idle_slices(current, slices) -%}
    {%- if not slices -%}{{ return([]) }}{%- endif -%}
    {%- set now = tidemark.make_slice(current, tidemark.next_commit_id(none), 'now', 'select 1 as one') -%}
    {%- set idle = tidemark.first_column(tidemark.idle_slices_sql(slices, now)) -%}
    {%- do tidemark.drop_table(now) -%}
    {%- set found = [] -%}
    {%- for slice in slices if slice.identifier in idle -%}{%- do found.append(slice) -%}{%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- What the names of this process's slices end in; where the adapter does not know, of this run's. -#}
{%- macro whose_slices() -%}
    {{ return('_' ~ (adapter.process_name() if tidemark.can('remove_files') else local_md5(invocation_id)[:8])) }}
{%- endmacro -%}

{#- Remove the folders of slices that a killed run had not made tables of yet. -#}
{%- macro clear_slices(current) -%}
    {%- if tidemark.can('remove_files') -%}{%- do adapter.clear_slices(tidemark.side_relation(current, 'slice_')) -%}{%- endif -%}
{%- endmacro -%}

{%- macro drop_table(relation) -%}
    {%- do run_query(tidemark.drop_table_sql(relation)) -%}
{%- endmacro -%}
