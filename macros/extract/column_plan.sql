{#- Decide what becomes of every column: its name and type, whether it is a key, compared, ignored or kept apart.
    `source_columns` is what the model's SQL yields, `types` the declared types in Spark's spelling, `recorded` what
    the entity's last commit was made with (none on a first run), `origin` says in messages which extract it is.

    The recorded names and their order win over the YAML's, so that reordering the YAML or changing the case of a name
    changes no hash; new columns come last, where a NULL leaves every hash as it was. What the extract of an earlier date need
    not have, or may have as NULL, as it came later, stands in `recorded['not_yet']`, in lower case; what it still has of columns that were dropped since
    (`recorded['is_past']`) is carried. -#}
{%- macro column_plan(cfg, source_columns, types, recorded, origin='') -%}
    {%- set errors = [] -%}
    {%- set recorded_columns = recorded['columns'] if recorded else [] -%}
    {%- set arrived, supplied = tidemark._arrived_columns(source_columns, errors) -%}
    {%- do tidemark._check_supplied_columns(cfg, supplied, errors) -%}
    {%- do tidemark._check_named_columns(cfg, arrived, recorded or {}, origin, errors) -%}
    {%- set declared = tidemark.by_name(cfg['columns']) -%}
    {%- set keys = tidemark.keys_in_order(cfg, recorded) | map('lower') | list -%}
    {%- set sensitive = cfg['sensitive'] | map('lower') | list -%}

    {#- Recorded columns in their order, then new ones: of the YAML first, then as the extract has them. -#}
    {%- set come = cfg['columns'] | map(attribute='name') | list + arrived.values() | map(attribute='name') | list -%}
    {%- set names = [] -%}
    {%- for name in recorded_columns | map(attribute='name') | list + come -%}
        {%- if loop.index <= recorded_columns | length or (name | lower in arrived and name | lower not in names | map('lower') | list) -%}{%- do names.append(name) -%}{%- endif -%}
    {%- endfor -%}

    {%- set columns = [] -%}
    {%- for name in names -%}
        {%- set lower = name | lower -%}
        {%- set source = arrived.get(lower) -%}
        {%- set known = recorded_columns | selectattr('name', 'equalto', name) | first | default(none) -%}
        {%- set dropped = known is not none and known.get('dropped', false) and (source is none or recorded.get('is_past', false)) -%}
        {%- set declaration = declared.get(lower, {}) -%}
        {%- set source_type = source['type'] if source else none -%}
        {%- set wanted = types.get(lower) or (known['type'] if known and not declaration.get('data_type') and (dropped or not source) else source_type) -%}
        {#- an extract of before the source widened a column -#}
        {%- set was_narrower = known and source and not declaration.get('data_type') and recorded.get('is_past', false)
            and tidemark.wider_type(source_type, known['type'], cfg['file_format']) -%}
        {%- if was_narrower -%}
            {%- set wanted = known['type'] -%}
        {%- elif known and wanted -%}
            {%- set wanted = tidemark.wider_type(known['type'], wanted, cfg['file_format']) or wanted -%}
        {%- endif -%}
        {%- do columns.append({
            'name': name,
            'source_name': source['name'] if source else none,
            'source_type': source_type,
            'type': wanted or known['type'],
            'recorded_type': known['type'] if known else none,
            'key': lower in keys,
            'compared': tidemark.is_compared(cfg, name) and not dropped,
            'ignored': dropped or (lower not in keys and not tidemark.is_compared(cfg, name)),
            'compare_as': declaration.get('settings', {}).get('compare_as'),
            'dropped': dropped,
            'sensitive': lower in sensitive or (dropped and known['sensitive']),
            'not_null': (declaration.get('not_null', false) and lower not in (recorded or {}).get('not_yet', [])) or (lower in keys and cfg['null_keys'] == 'reject'),
            'held': tidemark.is_held(recorded, known),
            'description': declaration.get('description', ''),
        }) -%}
    {%- endfor -%}

    {%- for column in columns if column['name'] | lower == (cfg['effective_from'] or '') | lower and column['type'] not in ['date', 'timestamp', 'timestamp_ntz'] -%}
        {%- do errors.append(
            'effective_from names column `' ~ column['name'] ~ '`, which is ' ~ column['type']
            ~ ': declare its data_type as timestamp or date in the YAML'
        ) -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors, 'configuration and extract have') -%}

    {%- set key_columns = tidemark.named_columns(columns, keys) -%}
    {{ return({
        'columns': columns,
        'keys': key_columns,
        'compared': columns | selectattr('compared') | list,
        'ignored': columns | selectattr('ignored') | list,
        'stored': columns | rejectattr('sensitive') | list,
        'sensitive': columns | selectattr('sensitive') | list,
        'supplied': supplied.keys() | list,
        'added': columns | selectattr('recorded_type', 'none') | list if recorded else [],
        'recorded': dict({
            'recipe': tidemark.hash_recipe_version(),
            'extract': cfg['extract'],
            'hash': cfg['hash'],
            'stored_hashes': cfg['stored_hashes'],
            'keys': key_columns | map(attribute='name') | list,
            'tag_unchanged': cfg['tag_unchanged'],
            'soft_delete': cfg['soft_delete'],
            'file_format': cfg['file_format'],
            'write_mode': cfg['write_mode'],
            'marks_rejects': true,
            'marks_not_null': true,
            'layout': tidemark.recorded_layout(cfg),
            'columns': tidemark._recorded_columns(columns),
        }, **dict(tidemark._lacking(columns, (recorded or {}).get('not_yet', [])), **tidemark._having_deltas(cfg, recorded))),
    }) }}
{%- endmacro -%}

{#- What the model's SQL yields, by lower-case name: business columns, and reserved ones with their types. -#}
{%- macro _arrived_columns(source_columns, errors) -%}
    {%- set arrived, supplied = {}, {} -%}
    {%- for column in source_columns -%}
        {%- set lower = column['name'] | lower -%}
        {%- set refused = tidemark.refused_name(column['name'], [], ' of the extract') -%}
        {%- if lower in tidemark.reserved_columns() -%}
            {%- do supplied.update({lower: column['type']}) -%}
        {%- elif refused -%}
            {%- do errors.append(refused ~ ': rename it in the source, or in the model') -%}
        {%- elif lower in arrived -%}
            {%- do errors.append('the model yields column `' ~ column['name'] ~ '` twice (names differ at most in case)') -%}
        {%- else -%}
            {%- do arrived.update({lower: column}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return((arrived, supplied)) }}
{%- endmacro -%}

{#- What the YAML names must be there, but for an ignored column that an earlier extract had, and what was not there yet. -#}
{%- macro _check_named_columns(cfg, arrived, recorded, origin, errors) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set known = recorded.get('columns', []) | map(attribute='name') | map('lower') | list -%}
    {%- set not_yet = recorded.get('not_yet', []) -%}
    {%- set as_they_are = arrived.values() | map(attribute='name') | list -%}
    {%- for column in cfg['columns'] if column['name'] | lower not in arrived and column['name'] | lower not in not_yet -%}
        {%- do errors.append('column `' ~ column['name'] ~ '` of the YAML is not in the extract' ~ origin ~ tidemark._did_you_mean(column['name'], as_they_are)) -%}
    {%- endfor -%}
    {%- for setting, names in [
        ('unique_key', cfg['keys']), ('ignore', cfg['ignore']), ('sensitive', cfg['sensitive']), ('effective_from', [cfg['effective_from']] if cfg['effective_from'] else []),
    ] -%}
        {%- for name in names if name | lower not in arrived and name | lower not in declared + not_yet and not (setting == 'ignore' and name | lower in known) -%}
            {%- do errors.append(setting ~ ' names column `' ~ name ~ '`, which is not in the extract' ~ origin ~ tidemark._did_you_mean(name, as_they_are)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set known_names = as_they_are + cfg['columns'] | map(attribute='name') | list + recorded.get('columns', []) | map(attribute='name') | list -%}
    {%- do errors.extend(tidemark.misplaced_layout(cfg, known_names | unique | list, 'is not in the extract' ~ origin)) -%}
{%- endmacro -%}

{#- That some date of the log was a delta, where this one is none. -#}
{%- macro _having_deltas(cfg, recorded) -%}
    {{ return({'has_deltas': true} if cfg['extract'] == 'full' and recorded and tidemark.had_deltas(recorded) else {}) }}
{%- endmacro -%}

{#- Which columns did not come with the extract: see columns_not_yet(). -#}
{%- macro _lacking(columns, not_yet) -%}
    {%- set names = [] -%}
    {%- for column in columns if column['source_name'] is none or column['name'] | lower in not_yet -%}{%- do names.append(column['name']) -%}{%- endfor -%}
    {{ return({'lacks': names} if names else {}) }}
{%- endmacro -%}

{#- The part of a column that later runs are held to. -#}
{%- macro _recorded_columns(columns) -%}
    {%- set recorded = [] -%}
    {%- for column in columns -%}
        {%- do recorded.append(dict({
            'name': column['name'], 'type': column['type'], 'role': tidemark.column_role(column), 'sensitive': column['sensitive'],
            'dropped': column['dropped'],
        }, **dict({'compare_as': column['compare_as']} if column.get('compare_as') else {}, **tidemark.held_not_null(column)))) -%}
    {%- endfor -%}
    {{ return(recorded) }}
{%- endmacro -%}

{#- A reserved column may only come from a model that is set to supply it. -#}
{%- macro _check_supplied_columns(cfg, supplied, errors) -%}
    {%- set allowed = ['_unreadable', '_malformed'] -%}
    {%- if cfg['stored_hashes'] -%}
        {%- set allowed = ['_unreadable', '_malformed', '_key_hash', '_row_hash', '_reject_reason', '_raw_payload'] -%}
        {%- for name in ['_key_hash', '_row_hash'] if name not in supplied -%}
            {%- do errors.append('stored_hashes is true, but the model does not yield `' ~ name ~ '`') -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for name in supplied if name not in allowed -%}
        {%- set hint = '; set stored_hashes: true if the model computes it' if name in ['_key_hash', '_row_hash'] else '' -%}
        {%- do errors.append('column `' ~ name ~ '` of the extract is reserved: rename it in the model' ~ hint) -%}
    {%- endfor -%}
{%- endmacro -%}
