{#-
    Decide what becomes of every column of an events entity. `found` is what the batch holds: `names` of its images,
    `schemas` (inline schemas: id → columns), `ddl` (columns by the last DDL event, or none), `inferred` types, `arrived`
    (columns of a typed source, or none), `renames` (old name → new, of DDL events in the batch), `refused` names,
    names `to_come` by statements later in the batch.

    Unlike an extract's, a column that does not arrive is no drift: an event need not bring every column. One that the setting `columns`
    leaves out by now `stays` as it is: for what is stored no event brings it, though predicates may read what one has of it.
-#}
{%- macro event_plan(cfg, found, types, recorded) -%}
    {%- set errors = [] -%}
    {%- set known_columns = recorded['columns'] if recorded else [] -%}
    {%- set typed = found['arrived'] is not none -%}
    {%- set aliases = tidemark._aliases(cfg, found, known_columns) -%}
    {%- set declared = tidemark.by_name(cfg['columns']) -%}
    {%- set names = tidemark._event_names(cfg, found, recorded, aliases, errors) -%}
    {%- set keys = tidemark.keys_in_order(cfg, recorded) | map('lower') | list -%}
    {%- set ignored = cfg['ignore'] | map('lower') | list -%}
    {%- set sensitive = cfg['sensitive'] | map('lower') | list -%}
    {%- set hash_names = known_columns | map(attribute='hash_name') | map('lower') | list -%}
    {%- set excluded_types = (recorded or {}).get('excluded_types') or {} -%}
    {%- set columns = [] -%}
    {%- for name in names -%}
        {%- set lower = name | lower -%}
        {%- set known = known_columns | selectattr('name', 'equalto', name) | first | default(none) -%}
        {%- set is_gone = known is not none and known.get('gone', false) -%}
        {%- set declaration = declared.get(lower, {}) -%}
        {%- set sources = tidemark._source_names(name, aliases, found) -%}
        {%- set fields = tidemark._fields_of(sources, found) -%}
        {%- set source_type = tidemark._field_type(cfg, sources, fields, found) -%}
        {%- set type = types.get(lower) or (known['type'] if known else source_type) or excluded_types.get(name) or 'string' -%}
        {%- if known and not types.get(lower) and source_type and cfg['ddl']['widen_column'] == 'apply' -%}
            {%- set type = tidemark.wider_type(type, source_type, cfg['file_format']) or type -%}
        {%- elif known -%}
            {%- set type = tidemark.wider_type(known['type'], type, cfg['file_format']) or type -%}
        {%- endif -%}
        {%- set arrived = (found['arrived'] or {}).get(lower) -%}
        {%- set new_hash_name = name ~ '~' ~ loop.index if lower in hash_names else name -%}
        {%- set hash_name = known['hash_name'] if known else new_hash_name -%}
        {#- `held`: not more than the key, as an event may leave out what a row must have, of a key that is not there. -#}
        {%- do columns.append({
            'name': name,
            'hash_name': hash_name,
            'sources': sources,
            'encodings': tidemark._encodings_of(cfg, name, fields, found),
            'source_name': arrived['name'] if arrived else none,
            'source_type': arrived['type'] if arrived else none,
            'arrived': (arrived is not none) if typed else (lower in found['names'] | map('lower') | list),
            'before_arrived': typed and ('_before_' ~ lower) in found['arrived'],
            'before_type': found['arrived'].get('_before_' ~ lower, {}).get('type') if typed else none,
            'type': type,
            'recorded_type': known['type'] if known else none,
            'key': lower in keys,
            'ignored': lower in ignored,
            'chosen': is_gone or tidemark.is_chosen(cfg['chosen'], name),
            'known': known,
            'gone': is_gone,
            'dropped': false,
            'sensitive': known['sensitive'] if is_gone else lower in sensitive,
            'not_null': declaration.get('not_null', false) or (lower in keys and cfg['null_keys'] == 'reject'),
            'held': lower in keys and tidemark.is_held(recorded, known),
            'description': declaration.get('description', ''),
            'default': tidemark._default_of(fields),
            'orders': cfg['format'] == 'debezium' and lower not in keys and tidemark._reads_column(cfg['sequence_by'] | join('\n'), name),
        }) -%}
    {%- endfor -%}
    {%- set present = names | map('lower') | list -%}
    {%- set to_come = found.get('to_come', []) | map('lower') | list -%}
    {%- set tracked = cfg['tracked']['include'] + cfg['tracked']['exclude'] -%}
    {%- for setting, chosen in [('ignore', cfg['ignore']), ('sensitive', cfg['sensitive']), ('track_history', tracked)] -%}
        {%- for name in chosen if name | lower not in present + to_come -%}
            {%- do errors.append(setting ~ ' names column `' ~ name ~ '`, which no event has' ~ tidemark._did_you_mean(name, names)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if found['names'] -%}{%- do errors.extend(tidemark.misplaced_layout(cfg, names, 'no event has')) -%}{%- endif -%}
    {%- set excluded = tidemark._excluded_names(cfg, found, recorded) -%}
    {%- do errors.extend(tidemark._misspelt_names(cfg, found, recorded, present + to_come + excluded)) -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}

    {{ return(tidemark._plan_of_events(cfg, found, recorded, columns, excluded)) }}
{%- endmacro -%}

{#- The columns by name: those that are recorded, then those that are declared, are part of the key, or arrived. -#}
{%- macro _event_names(cfg, found, recorded, aliases, errors) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set names = (recorded['columns'] if recorded else []) | map(attribute='name') | list -%}
    {%- set seen = names | map('lower') | list -%}
    {#- A column that images bring under its former name stands where that name does. -#}
    {%- set arrived_names = [] -%}
    {%- for name in found['names'] -%}{%- do arrived_names.append(tidemark._present_name(name, cfg, aliases)) -%}{%- endfor -%}
    {#- Canonical rows need not bring every column of their table. An envelope does, save for those that its capture leaves
        out, which Debezium's DDL names all the same. -#}
    {%- set ddl_names = (found['ddl'] or []) | map(attribute='name') | list if cfg['format'] == 'canonical' else [] -%}
    {%- set left_out = [] -%}
    {%- for name in (recorded or {}).get('excluded_types') or {} if found['arrived'] is none and not tidemark.is_chosen(cfg['chosen'], name) -%}
        {%- do left_out.append(name) -%}
    {%- endfor -%}
    {%- for name in cfg['columns'] | map(attribute='name') | list + cfg['keys'] + arrived_names + ddl_names + left_out -%}
        {%- set lower = name | lower -%}
        {%- set is_refused = lower in found['refused'] | map('lower') | list or (recorded and cfg['ddl']['add_column'] == 'ignore') -%}
        {%- set wanted = lower in declared or (lower not in aliases and not is_refused) -%}
        {#- an image of before is told by that prefix -#}
        {%- set refused = tidemark.refused_name(name, tidemark.reserved_event_columns() + ([lower] if lower.startswith('_before_') else []), ' of the events') -%}
        {%- set is_reserved = refused is not none -%}
        {%- if is_reserved and tidemark.is_chosen(cfg['chosen'], name) -%}
            {%- do errors.append(refused ~ ': rename it in the source or in a model between, or leave it out (columns: {exclude: [' ~ name | tojson ~ ']})') -%}
        {%- endif -%}
        {%- if lower not in seen and wanted and not is_reserved -%}
            {%- do names.append(name) -%}
            {%- do seen.append(lower) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- The plan of these columns. -#}
{%- macro _plan_of_events(cfg, found, recorded, columns, excluded) -%}
    {%- set recordable = [] -%}
    {%- for column in columns if column['chosen'] or column['known'] is not none -%}
        {%- do recordable.append(column if column['chosen'] else tidemark._staying_column(column)) -%}
    {%- endfor -%}
    {%- set kept = [] -%}
    {%- for column in recordable if not column['gone'] -%}
        {%- do column.update({'compared': not column['key'] and not column['ignored']}) -%}
        {%- do kept.append(column) -%}
    {%- endfor -%}
    {%- set key_columns = tidemark.named_columns(kept, tidemark.keys_in_order(cfg, recorded) | map('lower') | list) -%}
    {%- set recorded_columns = [] -%}
    {%- for column in recordable -%}
        {%- do recorded_columns.append(dict({
            'name': column['name'], 'type': column['type'], 'hash_name': column['hash_name'], 'gone': column['gone'],
            'role': tidemark.column_role(column),
            'sensitive': column['sensitive'], 'dropped': false,
        }, **tidemark.held_not_null(column))) -%}
    {%- endfor -%}
    {{ return({
        'flow': 'events',
        'typed': found['arrived'] is not none,
        'keyed': cfg['keys'] | length > 0,
        'unavailable_value': cfg['unavailable_value'],
        'source_columns': columns | rejectattr('gone') | list,
        'columns': kept,
        'keys': key_columns,
        'compared': kept | selectattr('compared') | list,
        'ignored': kept | selectattr('ignored') | list,
        'stored': kept | rejectattr('sensitive') | list,
        'sensitive': kept | selectattr('sensitive') | list,
        'gone': columns | selectattr('gone') | rejectattr('sensitive') | list,
        'added': kept | selectattr('recorded_type', 'none') | list if recorded else [],
        'sequence_by': cfg['sequence_by'] | length > 0,
        'on_tie': cfg['on_tie'],
        'sequence_type': none,
        'sequence_casts': {},
        'recorded': {
            'recipe': tidemark.hash_recipe_version(),
            'extract': 'events',
            'hash': cfg['hash'],
            'stored_hashes': false,
            'keys': key_columns | map(attribute='name') | list,
            'tag_unchanged': false,
            'soft_delete': cfg['soft_delete'],
            'file_format': cfg['file_format'],
            'write_mode': cfg['write_mode'],
            'marks_rejects': true,
            'marks_not_null': true,
            'layout': tidemark.recorded_layout(cfg),
            'sequence_by': cfg['sequence_by'],
            'on_tie': cfg['on_tie'],
            'columns': recorded_columns,
            'excluded': excluded,
            'excluded_types': tidemark._excluded_types(cfg, recorded, columns),
            'source': recorded['source'] if recorded and recorded.get('source') else {},
        },
    }) }}
{%- endmacro -%}

{#- A column that is stored and that the setting `columns` leaves out. Whatever else the settings say of it waits until it is chosen again,
    but that it is sensitive. -#}
{%- macro _staying_column(column) -%}
    {{ return(dict(
        column, stays=true, type=column['known']['type'], ignored=column['known']['role'] == 'ignored',
        sensitive=column['sensitive'] or column['known']['sensitive'], not_null=false, default=none
    )) }}
{%- endmacro -%}

{#- Names of the columns that events have brought and the setting `columns` leaves out, lower case; events need not bring them again. -#}
{%- macro _excluded_names(cfg, found, recorded) -%}
    {%- set names = (recorded or {}).get('excluded') or [] -%}
    {%- set excluded = [] -%}
    {%- for name in names + found['names'] if not tidemark.is_chosen(cfg['chosen'], name) -%}
        {%- do excluded.append(name | lower) -%}
    {%- endfor -%}
    {{ return(excluded | unique | list) }}
{%- endmacro -%}

{#- Types of the columns of lines that the setting `columns` leaves out, by name. A predicate may read one that no line of a batch brings. -#}
{%- macro _excluded_types(cfg, recorded, columns) -%}
    {%- set types = {} -%}
    {%- for name, type in ((recorded or {}).get('excluded_types') or {}).items() if not tidemark.is_chosen(cfg['chosen'], name) -%}
        {%- do types.update({name: type}) -%}
    {%- endfor -%}
    {%- for column in columns if not column['chosen'] and column['arrived'] and column['source_name'] is none -%}
        {%- do types.update({column['name']: column['type']}) -%}
    {%- endfor -%}
    {{ return(types) }}
{%- endmacro -%}

{#- Names in `columns` and `ignore_null_updates` that are no column's. Where lines need not have every column, only those that look like
    another one; none where nothing arrived, or an earlier version did not record what is left out. -#}
{%- macro _misspelt_names(cfg, found, recorded, present) -%}
    {%- set errors = [] -%}
    {%- set is_whole = found['arrived'] is not none or cfg['format'] == 'debezium' -%}
    {%- set spelled = found['names'] + (found['ddl'] or []) | map(attribute='name') | list + (found['arrived'] or {}).values() | map(attribute='name') | list + present -%}
    {%- set known = spelled | map('lower') | unique | list -%}
    {%- if found['names'] and (not recorded or recorded.get('excluded') is not none) -%}
        {%- for setting, chosen in [('columns', cfg['chosen']), ('ignore_null_updates', cfg['ignore_null_updates'])] -%}
            {%- set named = chosen['include'] + chosen['exclude'] -%}
            {%- for name in named if name not in known -%}
                {%- if is_whole or tidemark._nearest(name, known | reject('in', named) | list, 0.6) -%}
                    {%- do errors.append(setting ~ ' names column `' ~ name ~ '`, which no event has' ~ tidemark._did_you_mean(name, spelled | unique | list)) -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(errors) }}
{%- endmacro -%}

{#- Former names, lower case, to the present name: of previous_names, and of renames in the batch whose new name is declared, but where the
    column is known under the former name so far: its values go there until the statement takes them along. -#}
{%- macro _aliases(cfg, found, known_columns=[]) -%}
    {%- set aliases = {} -%}
    {%- for name, old in cfg['previous_names'].items() -%}
        {%- for former in ([old] if old is string else old) -%}{%- do aliases.update({former | lower: name | lower}) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list + cfg['keys'] | map('lower') | list -%}
    {%- set named = [] -%}
    {%- for column in known_columns if not column.get('gone') -%}{%- do named.append(column['name'] | lower) -%}{%- endfor -%}
    {%- for old, new in found['renames'].items() if new | lower in declared and old | lower not in declared + named -%}
        {%- do aliases.update({old | lower: new | lower}) -%}
    {%- endfor -%}
    {{ return(aliases) }}
{%- endmacro -%}

{#- What a column of an image is called today. -#}
{%- macro _present_name(name, cfg, aliases) -%}
    {%- for present in cfg['previous_names'] if aliases.get(name | lower) == present | lower -%}{{ return(present) }}{%- endfor -%}
    {{ return(name) }}
{%- endmacro -%}

{#- The names under which images may bring a column. -#}
{%- macro _source_names(name, aliases, found) -%}
    {%- set sources = [] -%}
    {%- for candidate in found['names'] if candidate | lower == name | lower -%}{%- do sources.append(candidate) -%}{%- endfor -%}
    {%- if not sources -%}{%- do sources.append(name) -%}{%- endif -%}
    {%- for candidate in found['names'] if aliases.get(candidate | lower) == name | lower and candidate not in sources -%}
        {%- do sources.append(candidate) -%}
    {%- endfor -%}
    {{ return(sources) }}
{%- endmacro -%}

{#- What the schemas of the batch say of a column: schema id (none: the DDL) → field. -#}
{%- macro _fields_of(sources, found) -%}
    {%- set fields = {} -%}
    {%- set wanted = sources | map('lower') | list -%}
    {%- for schema_id, columns in found['schemas'].items() -%}
        {%- for column in columns if column['name'] | lower in wanted -%}{%- do fields.update({schema_id: column}) -%}{%- endfor -%}
    {%- endfor -%}
    {%- for column in found['ddl'] or [] if column['name'] | lower in wanted -%}{%- do fields.update({'ddl': column}) -%}{%- endfor -%}
    {{ return(fields) }}
{%- endmacro -%}

{#- The type of a column at the source: by its last schema, unless rows of the batch before that need a wider one. The DDL, if there is
    some, says what it is in this stretch. -#}
{%- macro _field_type(cfg, sources, fields, found) -%}
    {%- set found_type = namespace(value=none) -%}
    {%- for schema_id, field in fields.items() if field['type'] -%}
        {%- if schema_id == 'ddl' or not found_type.value or not tidemark.is_widening(field['type'], found_type.value, cfg['file_format']) -%}
            {%- set found_type.value = field['type'] -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for source in sources if not found_type.value -%}
        {%- set arrived = (found['arrived'] or {}).get(source | lower) -%}
        {%- set found_type.value = arrived['type'] if arrived else found['inferred'].get(source) -%}
    {%- endfor -%}
    {{ return(found_type.value) }}
{%- endmacro -%}

{#- Encoding by schema id; the key none stands for events without inline schema. -#}
{%- macro _encodings_of(cfg, name, fields, found) -%}
    {%- for column, encoding in cfg['encodings'].items() if column | lower == name | lower -%}{{ return({none: encoding}) }}{%- endfor -%}
    {%- set encodings = {} -%}
    {%- for schema_id in found['schemas'] -%}
        {%- if schema_id in fields -%}{%- do encodings.update({schema_id: fields[schema_id]['encoding']}) -%}{%- endif -%}
    {%- endfor -%}
    {%- if found['has_schemaless'] or not encodings -%}
        {%- do encodings.update({none: fields['ddl']['encoding'] if 'ddl' in fields else 'auto'}) -%}
    {%- endif -%}
    {{ return(encodings) }}
{%- endmacro -%}

{#- The default of a column as {text, encoding}, or none: that of the first schema which has it, as a later one gives nothing to rows that
    are there. -#}
{%- macro _default_of(fields) -%}
    {%- set field = fields.values() | first | default({}) -%}
    {%- if field.get('default') is none or field.get('default_is_stand_in') -%}{{ return(none) }}{%- endif -%}
    {{ return({'text': field['default'], 'encoding': field.get('default_encoding', field['encoding'])}) }}
{%- endmacro -%}
