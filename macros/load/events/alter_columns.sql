{#- A DDL event is brought to the tables of an entity. What of it a dead run leaves half done undo_statement() takes back. -#}

{#- Bring the DDL event that begins a stretch to the tables; what is recorded of their columns is then a copy of its own. -#}
{%- macro opened_after_statement(opened, batch, stretch) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set recorded = none if state['first'] else fromjson(tojson(state['recorded'])) -%}
    {%- set opened = dict(opened, state=dict(state, recorded=recorded or state['recorded'])) -%}
    {%- for statement in batch['statements'] if statement['cuts'] and statement['landing_num'] == stretch['from'] -%}
        {%- for change in statement['changes'] if change['policy'] == 'fail' -%}
            {%- do tidemark.raise_failed_policy(cfg, statement, change) -%}
        {%- endfor -%}
        {%- set opened = tidemark.begin_statement(opened, statement) -%}
        {%- do tidemark.alter_columns(cfg, opened['relations'], recorded, statement) -%}
        {%- do tidemark.take_up_columns(cfg, batch, statement) -%}
        {{ return(dict(opened, state=dict(opened['state'], log_version=none))) }}
    {%- endfor -%}
    {{ return(opened) }}
{%- endmacro -%}

{#- Record the commit of the stretch, in flight, with the names that columns will have, before a table is altered: by that a run which finds
    it there takes back what this one did, see undo_statement(). Also stops at a name that a column cannot have. -#}
{%- macro begin_statement(opened, statement) -%}
    {%- set run, state = opened['run'], opened['state'] -%}
    {%- set meant = none if state['first'] else fromjson(tojson(state['recorded'])) -%}
    {%- do tidemark.alter_columns(opened['cfg'], {}, meant, statement) -%}
    {%- if not meant or meant['columns'] == state['recorded']['columns'] or run.get('dry_run') -%}{{ return(opened) }}{%- endif -%}
    {%- set load = {'commit_id': tidemark.next_commit_id(state['last_id']), 'kind': 'load', 'business_date': tidemark.date_of_events(run), 'forward': true} -%}
    {%- set begun = tidemark.new_commit(opened, load, meant) -%}
    {%- do tidemark.record_commit(opened['commits'], begun, 'inflight', {}) -%}
    {{ return(dict(opened, state=dict(state, last_id=begun['commit_id'], begun=begun))) }}
{%- endmacro -%}

{#- Rename and drop columns, in the tables and in what is recorded of them; added and wider ones follow from the plan. Doing it twice does
    nothing the second time, as what is there is looked at. Without relations what is recorded alone is told: as it will be. -#}
{%- macro alter_columns(cfg, relations, recorded, statement) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set keys = cfg['keys'] | map('lower') | list -%}
    {%- for change in statement['changes'] if recorded -%}
        {%- if change['kind'] == 'add_column' -%}
            {%- set is_taken = change['policy'] != 'ignore' or change['name'] | lower in declared -%}
            {%- if is_taken and tidemark.was_dropped(recorded, change['name']) -%}
                {%- do tidemark.put_aside(relations, recorded, change['name']) -%}
            {%- endif -%}
        {%- elif change['kind'] == 'rename_column' and change['policy'] == 'apply' -%}
            {%- do tidemark.check_name_of_key(cfg, recorded, statement, change) -%}
            {%- do tidemark.rename_column(cfg, relations, recorded, change['old'], change['name']) -%}
        {%- elif change['kind'] == 'drop_column' and change['policy'] == 'apply' and change['name'] | lower not in keys -%}
            {%- do tidemark.drop_column(cfg, relations, recorded, change['name']) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- What a statement adds is told to the batch, also where no row brings it, and to itself what the rows that are there get (`fills`). -#}
{%- macro take_up_columns(cfg, batch, statement) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- for change in statement['changes'] if change['kind'] == 'add_column' -%}
        {%- if change['policy'] != 'ignore' and change['name'] not in batch['names'] -%}
            {%- do batch['names'].append(change['name']) -%}
        {%- endif -%}
        {%- set default = none if change['column'].get('default_is_stand_in') else change['column'].get('default') -%}
        {%- if default is not none and not cfg['sequence_by'] and (change['policy'] == 'apply' or change['name'] | lower in declared) -%}
            {%- do statement.setdefault('fills', []).append({
                'operation': 'ADD_COLUMN', 'effect': 'fill', 'event_id': local_md5(statement['event_id'] ~ '|' ~ change['name']),
                'sequence_num': statement['sequence_num'], 'landing_num': statement['landing_num'], 'event_time': statement['event_time'],
                'column': change['name'], 'default': default, 'encoding': change['column'].get('default_encoding', change['column']['encoding']),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Stop at a statement by policy, or because it cannot be followed; `is_cut`: the batch was cut there. -#}
{%- macro raise_failed_policy(cfg, statement, change, is_cut=true) -%}
    {%- set why, advice = change.get('stops') or [
        'and ddl.' ~ change['kind'] ~ ' is fail',
        ('The type of `' ~ change['name'] ~ '` went from ' ~ change['was'] ~ ' to ' ~ change['type'] ~ ', which the target cannot follow in place: declare a data_type for it that holds both, or '
         if change['kind'] == 'change_type' else '')
        ~ 'set ddl.' ~ change['kind'] ~ ' to apply or ignore under meta.tidemark, then run again',
    ] -%}
    {%- do tidemark.raise_error('data',
        cfg['entity'] ~ ': the source did `' ~ statement['text'] ~ '`, ' ~ why
        ~ ('; what came before it was applied. ' if is_cut else '; nothing was applied. ') ~ advice
    ) -%}
{%- endmacro -%}

{#- A column that takes the name of the key: the rows are known here by what the one that was called so had. -#}
{%- macro check_name_of_key(cfg, recorded, statement, change) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set old, new = change['old'] | lower, change['name'] | lower -%}
    {%- for column in recorded['columns'] if column['name'] | lower == new and column['role'] == 'key' and old != new and old not in declared -%}
        {%- do tidemark.raise_failed_policy(cfg, statement, dict(change, stops=[
            'and `' ~ column['name'] ~ '`, by which rows are known here, is what was `' ~ change['old'] ~ '`',
            'Begin anew with --full-refresh on a snapshot from after the statement',
        ])) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Rename a column wherever it is stored. Its values, and its name in hashes, stay. -#}
{%- macro rename_column(cfg, relations, recorded, old, new) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {#- names in another case are the same -#}
    {%- if old | lower in declared or old | lower == new | lower -%}{{ return(none) }}{%- endif -%}
    {%- for column in recorded['columns'] if column['name'] | lower == old | lower -%}
        {%- do tidemark.put_aside(relations, recorded, new, old) -%}
        {%- for name in ['log_table', 'current', 'staging', 'sensitive'] if relations and tidemark.relation_exists(relations[name]) -%}
            {%- do tidemark.rename_in(relations[name], old, new) -%}
        {%- endfor -%}
        {%- do column.update({'name': new}) -%}
        {%- do recorded.update({'views_are_old': true}) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Make a name free for a column that takes it, the one that is called `old` so far, or none: what a dropped one has under it is kept beside
    current under another name. One that was declared before it existed has no values, and goes. -#}
{%- macro put_aside(relations, recorded, name, old=none) -%}
    {%- set aside = tidemark.free_name(name, recorded['columns'] | map(attribute='name') | map('lower') | list) -%}
    {#- without relations: where there may be values -#}
    {%- set kept = namespace(is_any=not relations) -%}
    {%- for table in ['log_table', 'current', 'staging', 'sensitive'] if relations and tidemark.relation_exists(relations[table]) -%}
        {%- set present = adapter.get_columns_in_relation(relations[table]) | map(attribute='name') | map('lower') | list -%}
        {%- for prefix in ['', '_before_'] -%}
            {%- set stored = prefix ~ name -%}
            {#- of a run that died a table may be done -#}
            {%- set is_done = (prefix ~ aside) | lower in present or (old is not none and (prefix ~ old) | lower not in present) -%}
            {%- if stored | lower in present and not is_done -%}
                {%- if table != 'current' and tidemark.has_rows(relations[table], tidemark.quote_identifier(stored) ~ ' is not null') -%}
                    {%- do tidemark.rename_stored(relations[table], stored, prefix ~ aside) -%}
                    {%- do present.append((prefix ~ aside) | lower) -%}
                {%- else -%}
                    {%- do tidemark.drop_stored(relations[table], stored) -%}
                {%- endif -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if table in ['log_table', 'sensitive'] and aside | lower in present -%}{%- set kept.is_any = true -%}{%- endif -%}
    {%- endfor -%}
    {%- set columns = [] -%}
    {%- for column in recorded['columns'] -%}
        {%- if column['name'] | lower != name | lower -%}
            {%- do columns.append(column) -%}
        {%- elif kept.is_any -%}
            {%- do columns.append(dict(column, name=aside, gone=true)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do recorded.update({'columns': columns, 'views_are_old': true}) -%}
{%- endmacro -%}

{#- Whether a column of this name was taken away from current. -#}
{%- macro was_dropped(recorded, name) -%}
    {%- for column in (recorded or {}).get('columns', []) if column['name'] | lower == name | lower and column.get('gone') -%}{{ return(true) }}{%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- Take a column away from current. The log keeps it and its values. -#}
{%- macro drop_column(cfg, relations, recorded, name) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- if name | lower in declared -%}{{ return(none) }}{%- endif -%}
    {%- for column in recorded['columns'] if column['name'] | lower == name | lower and not column['gone'] -%}
        {%- set present = adapter.get_columns_in_relation(relations['current']) | map(attribute='name') | map('lower') | list if relations else [] -%}
        {%- if name | lower in present -%}
            {%- do tidemark.drop_stored(relations['current'], column['name']) -%}
        {%- endif -%}
        {%- do column.update({'gone': true}) -%}
    {%- endfor -%}
{%- endmacro -%}
