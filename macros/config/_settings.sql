{#- Helpers of the configuration readers. Only files of this folder read `config` and `var`. -#}

{#- The dict under `meta.tidemark`; every name it does not know becomes an error, as does a setting that stands elsewhere. What such a
    setting was meant for is taken from it, so that one mistake is one problem. -#}
{%- macro _settings(config, known, errors) -%}
    {%- set meta = config.get('meta') or {} -%}
    {%- set settings = {} -%}
    {%- for key, value in meta.items() if key == 'tidemark' or (value is mapping and tidemark._nearest(key, ['tidemark'], 0.6)) -%}
        {%- if key != 'tidemark' -%}{%- do errors.append('meta.' ~ key ~ ' is not read; did you mean `tidemark`?') -%}{%- endif -%}
        {%- if value is mapping -%}
            {%- do tidemark._take_settings(value, settings, known, errors) -%}
        {%- elif value is not none -%}
            {%- do errors.append('meta.tidemark must be a mapping of settings, found: ' ~ value) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set strays = {'config': [], 'meta': []} -%}
    {%- for name, value in config.items() if value is not none -%}
        {%- set meant = tidemark._misplaced(name, known) -%}
        {%- if meant -%}{%- do settings.update({meant: settings.get(meant, value)}) -%}{%- endif -%}
        {%- if meant == name -%}
            {%- do strays['config'].append(name) -%}
        {%- elif meant -%}
            {%- do errors.append('config.' ~ name ~ ' is not read; did you mean `' ~ meant ~ '`'
                ~ ('?' if meant in tidemark._dbt_keys() else ', under config.meta.tidemark?')) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name, value in meta.items() if name in known and 'tidemark' not in meta -%}
        {%- do strays['meta'].append(name) -%}
        {%- do settings.update({name: settings.get(name, value)}) -%}
    {%- endfor -%}
    {%- for place, names in strays.items() if names -%}
        {%- do errors.append(names | join(', ') ~ (' stands' if names | length == 1 else ' stand') ~ ' directly under ' ~ place
            ~ ', where it is not read: settings of Tidemark stand under config.meta.tidemark') -%}
    {%- endfor -%}
    {{ return(settings) }}
{%- endmacro -%}

{#- Take what is known of a mapping of settings, also under the name that a misspelt one was meant to have. -#}
{%- macro _take_settings(given, settings, known, errors) -%}
    {%- for name, value in given.items() -%}
        {#- Of these no value says what leaving them out says, of lengths of time that all is kept. -#}
        {%- if name in known and value is none and name in ['extract', 'location', 'table', 'engine', 'manifest', 'registry'] -%}
        {%- elif name in known and value is none and not name.endswith('_retention') -%}
            {%- do errors.append('meta.tidemark.' ~ name ~ ' has no value: give it one, or take the line out') -%}
        {%- elif name in known -%}
            {%- do settings.update({name: value}) -%}
        {%- elif name in tidemark._dbt_keys() -%}
            {%- do errors.append('meta.tidemark.' ~ name ~ " is not read: `" ~ name ~ "` is a key of dbt's own and stands directly under config") -%}
            {%- do settings.update({name: value}) -%}
        {%- elif tidemark._whose_setting(name) -%}
            {%- do errors.append('meta.tidemark.' ~ name ~ ' is a setting of ' ~ tidemark._whose_setting(name) ~ ', and has no effect here: take it out') -%}
        {%- else -%}
            {%- do errors.append('meta.tidemark.' ~ name ~ ' is not a setting' ~ tidemark._did_you_mean(name, known)) -%}
            {%- set meant = tidemark._nearest(name, known) -%}
            {%- if meant and meant not in given -%}{%- do settings.update({meant: value}) -%}{%- endif -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The models that have a setting; none have a name that is no setting. -#}
{%- macro _whose_setting(name) -%}
    {%- set found = [] -%}
    {%- for whose, names in {
        'extract: full and delta': tidemark._entity_settings(), 'extract: events': tidemark._event_settings(),
        'materialized: atomic': tidemark._atomic_settings(), 'materialized: shred': tidemark._shred_settings(),
        'materialized: scd2': tidemark._scd2_settings(), 'materialized: feed': tidemark._feed_settings(),
    }.items() if name in names -%}
        {%- do found.append(whose) -%}
    {%- endfor -%}
    {{ return(found | join(', ')) }}
{%- endmacro -%}

{#- The setting, or the key of dbt's, that a name directly under config stands for by mistake; none of a name that may be there. -#}
{%- macro _misplaced(name, known) -%}
    {%- if name in known -%}{{ return(name) }}{%- endif -%}
    {%- if name in tidemark._dbt_keys() -%}{{ return(none) }}{%- endif -%}
    {{ return(tidemark._nearest(name, known + ['unique_key', 'file_format', 'partition_by', 'liquid_clustered_by', 'location_root', 'tblproperties'], 0.75)) }}
{%- endmacro -%}

{#- What dbt and dbt-spark themselves read of a model's config. -#}
{%- macro _dbt_keys() -%}
    {{ return([
        'unique_key', 'materialized', 'file_format', 'partition_by', 'clustered_by', 'liquid_clustered_by', 'buckets', 'location_root',
        'tblproperties', 'persist_docs', 'grants', 'meta', 'tags', 'alias', 'schema', 'database', 'enabled', 'full_refresh', 'pre_hook',
        'post_hook', 'pre-hook', 'post-hook', 'on_schema_change', 'on_configuration_change', 'incremental_strategy', 'batch_size',
        'lookback', 'begin', 'quoting', 'column_types', 'group', 'packages', 'docs', 'contract', 'event_time', 'concurrent_batches',
        'access', 'freshness', 'static_analysis', 'merge_update_columns', 'merge_exclude_columns', 'incremental_predicates', 'sql_header',
    ]) }}
{%- endmacro -%}

{#- "; did you mean `extract`?" for the nearest known name, else the list of names. -#}
{%- macro _did_you_mean(name, known) -%}
    {%- set nearest = tidemark._nearest(name, known) -%}
    {%- set others = known | length - 30 -%}
    {{ return("; did you mean `" ~ nearest ~ "`?" if nearest else "; there are " ~ (known | sort)[:30] | join(', ')
        ~ (' and ' ~ others ~ ' more' if others > 0 else '')) }}
{%- endmacro -%}

{#- The known name that shares most letter pairs with this one; none where the best shares less than `least` of them. -#}
{%- macro _nearest(name, known, least=0.4) -%}
    {%- set wanted = tidemark._letter_pairs(name | string | lower) -%}
    {%- set best = namespace(name=none, score=0.0) -%}
    {%- for candidate in known -%}
        {%- set pairs = tidemark._letter_pairs(candidate | string | lower) -%}
        {%- set common = pairs | select('in', wanted) | list | length -%}
        {%- set score = 2.0 * common / (wanted | length + pairs | length) -%}
        {%- if score > best.score -%}
            {%- set best.name = candidate -%}
            {%- set best.score = score -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(best.name if best.score >= least else none) }}
{%- endmacro -%}

{#- Each letter with the next and with the one after that, so that letters which changed places still count. -#}
{%- macro _letter_pairs(word) -%}
    {%- set framed = ' ' ~ word ~ ' ' -%}
    {%- set pairs = [] -%}
    {%- for i in range(framed | length - 1) -%}
        {%- do pairs.append(framed[i:i + 2]) -%}
        {%- if i + 2 < framed | length -%}{%- do pairs.append(framed[i] ~ framed[i + 2]) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(pairs | unique(case_sensitive=true) | list) }}
{%- endmacro -%}

{#- Settings by name: {name: (kind, what holds without it)}, of kind flag, names (of columns), columns (a choice of them) or any. -#}
{%- macro _read_settings(settings, wanted, errors) -%}
    {%- set readers = {'flag': tidemark._as_bool, 'names': tidemark._as_list, 'columns': tidemark._chosen} -%}
    {%- set read = {} -%}
    {%- for name, (kind, usual) in wanted.items() -%}
        {%- set value = settings.get(name, usual) -%}
        {%- do read.update({name: readers[kind](value, name, errors) if kind in readers else value}) -%}
    {%- endfor -%}
    {{ return(read) }}
{%- endmacro -%}

{#- A string becomes a list of one, none becomes an empty list. YAML takes some names, such as no, on or 2024, for something else. -#}
{%- macro _as_list(value, name, errors) -%}
    {%- if value is none or value == '' -%}
        {{ return([]) }}
    {%- elif value is mapping or (value is not string and value is not sequence) -%}
        {%- do errors.append(name ~ " must be a name or a list of names, found: " ~ value ~ tidemark._in_quotes(value)) -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for one in ([value] if value is string else value) -%}
        {%- if one is string -%}
            {%- do names.append(one) -%}
        {%- else -%}
            {%- do errors.append(name ~ ' must be a name or a list of names, found in it: ' ~ one ~ tidemark._in_quotes(one)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- The mend of a name that YAML did not take for one. -#}
{%- macro _in_quotes(value) -%}
    {{ return('. A name such as no, on or 2024 stands in quotes' if value is number else '') }}
{%- endmacro -%}

{%- macro _as_bool(value, name, errors) -%}
    {%- if value is boolean -%}{{ return(value) }}{%- endif -%}
    {%- if value is string and value | lower in ['true', 'false'] -%}{{ return(value | lower == 'true') }}{%- endif -%}
    {%- do errors.append(name ~ " must be true or false, found: " ~ value) -%}
    {{ return(false) }}
{%- endmacro -%}

{#- A length of time such as `30 days`; none keeps everything. -#}
{%- macro _retention(value, name, errors) -%}
    {%- set text = value | string | trim | lower -%}
    {%- if value is none or text == 'none' -%}{{ return(none) }}{%- endif -%}
    {%- if not modules.re.fullmatch('[0-9]{1,6} (minute|hour|day|week|month|year)s?', text) -%}
        {%- do errors.append(name ~ " must be a length of time such as '30 days' or '12 hours', or none to keep all, found: " ~ value) -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(text) }}
{%- endmacro -%}

{#- How long each kind of what an entity wrote is kept; only change events have a staging. -#}
{%- macro _retentions(settings, errors) -%}
    {%- set retentions = {} -%}
    {%- for name in ['feed', 'superseded', 'history', 'rejects'] + (['staging'] if settings.get('extract') == 'events' else []) -%}
        {%- do retentions.update({name: tidemark._retention(settings.get(name ~ '_retention'), name ~ '_retention', errors)}) -%}
    {%- endfor -%}
    {{ return(retentions) }}
{%- endmacro -%}

{#- Rules about retention that look at more than one setting. -#}
{%- macro _check_retentions(cfg, retentions, errors) -%}
    {%- set history = retentions.get('history') -%}
    {%- do tidemark._add_broken([
        (history and cfg['file_format'] == 'parquet', 'history_retention needs file_format: delta or iceberg: the slices of a Parquet log never change'),
        (history and not cfg['keys'], 'history_retention needs unique_key: the rows of a table without key are counted from its first event'),
    ], errors) -%}
{%- endmacro -%}

{#- Where files are: text, whose placeholders are those of a business date (`{a,b}` is a glob), if its files have one. -#}
{%- macro _check_location(location, errors, dated=true) -%}
    {%- if location is not none and location is not string -%}
        {%- do errors.append('location must be a file, a folder or a glob, found: ' ~ location) -%}
    {%- elif location -%}
        {%- set known = ['business_date', 'yyyy', 'mm', 'dd'] -%}
        {%- set found = modules.re.findall('[{]([^{},]*)[}]', location) -%}
        {%- for name in found if not dated -%}
            {%- do errors.append('location has {' ~ name ~ '}, but change events are taken as they land: name the folder, or a glob') -%}
        {%- endfor -%}
        {%- for name in found if dated and name not in known -%}
            {%- do errors.append('location has {' ~ name ~ '}; did you mean {' ~ (tidemark._nearest(name, known) or 'business_date')
                ~ '}? There are {business_date}, {yyyy}, {mm} and {dd}') -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{#- Rules about dbt's own keys of where a table is and how it is made. -#}
{%- macro _check_place(config, errors) -%}
    {%- set root, properties = config.get('location_root'), config.get('tblproperties') -%}
    {%- do tidemark._add_broken([
        (root is not none and (root is not string or not root | trim), 'location_root must be a folder, found: ' ~ root),
        (properties is not none and properties is not mapping, 'tblproperties must be a mapping of table properties, found: ' ~ properties),
    ], errors) -%}
    {%- for name in ['partition_by', 'liquid_clustered_by'] if config.get(name) is sequence and config.get(name) is not string -%}
        {%- set names = config.get(name) | map('string') | map('lower') | list -%}
        {%- if names | unique | list | length != names | length -%}{%- do errors.append(name ~ ' names a column twice: ' ~ config.get(name) | join(', ')) -%}{%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- A format that there is, and that the project's session reads: of Delta and Iceberg it has one. -#}
{%- macro _check_format(file_format, errors) -%}
    {%- do tidemark._one_of('file_format', file_format, ['delta', 'iceberg', 'parquet'], errors) -%}
    {%- if file_format == 'iceberg' and tidemark.lake_format() != 'iceberg' -%}
        {%- do errors.append('file_format: iceberg needs the whole project in Iceberg: set vars: {tidemark__commits_format: iceberg} in dbt_project.yml') -%}
    {%- elif file_format in ['delta', 'parquet'] and tidemark.lake_format() == 'iceberg' -%}
        {%- do errors.append('file_format: ' ~ file_format ~ ' in a project of Iceberg tables (tidemark__commits_format: iceberg): leave file_format out') -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _one_of(name, value, allowed, errors) -%}
    {%- if value not in allowed -%}
        {%- set hint = tidemark._did_you_mean(value, allowed) if value is string and value else '' -%}
        {%- set found = 'missing' if value is none else 'found: ' ~ value -%}
        {%- do errors.append(
            name ~ ' must be one of ' ~ allowed | join(', ') ~ ' (' ~ found ~ ')'
            ~ (hint if hint.startswith('; did') else '')
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- A part of a whole, as a number. -#}
{%- macro _check_fraction(name, value, errors) -%}
    {%- if value is not number or value is boolean or not 0 <= value <= 1 -%}
        {%- do errors.append(name ~ ' must be a number from 0 to 1, found: ' ~ (value | tojson if value is string else value)) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Each rule that is broken, {is it, the sentence that says it}, is a problem. -#}
{%- macro _add_broken(rules, errors) -%}
    {%- for is_broken, problem in rules if is_broken -%}{%- do errors.append(problem) -%}{%- endfor -%}
{%- endmacro -%}

{#- Raise every problem that was found, at once; `holder` has them. -#}
{%- macro _raise_config_errors(entity, errors, holder='the configuration has') -%}
    {%- if errors -%}
        {%- do tidemark.raise_error('configuration',
            entity ~ ': ' ~ holder ~ ' ' ~ errors | length
            ~ (' problem' if errors | length == 1 else ' problems') ~ '\n  - ' ~ errors | join('\n  - ')
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What lays out the current table and is no column of it; its fields and the columns that Tidemark adds are left to Spark. -#}
{%- macro misplaced_layout(cfg, present, lacks) -%}
    {%- set errors = [] -%}
    {%- for setting, names in [('partition_by', cfg['partition_by']), ('liquid_clustered_by', cfg['cluster_by'])] -%}
        {%- for name in names if name | lower not in present | map('lower') and '.' not in name and not name.startswith('_') -%}
            {%- do errors.append(setting ~ ' names column `' ~ name ~ '`, which ' ~ lacks ~ tidemark._did_you_mean(name, present)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(errors) }}
{%- endmacro -%}
