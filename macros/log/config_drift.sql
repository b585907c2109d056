{#- What cannot change on an entity that has a log, compared with what its last commit recorded: a list of sentences, each saying what
    changed and what to do. Nothing is written when the list is not empty. -#}
{%- macro config_drift(cfg, plan, recorded, origin='') -%}
    {%- set drift = [] -%}
    {%- set now = plan['recorded'] -%}
    {%- for name, label in [('keys', 'unique_key'), ('extract', 'extract'), ('hash', 'hash'), ('recipe', 'the hash recipe'),
                            ('stored_hashes', 'stored_hashes'), ('file_format', 'file_format')] -%}
        {%- set may_change = name == 'extract' and 'events' not in [now[name], recorded[name]] -%}
        {%- if now[name] | string | lower != recorded[name] | string | lower and not may_change -%}
            {%- do drift.append(label ~ ' was ' ~ tidemark._shown(recorded[name]) ~ ' and is now ' ~ tidemark._shown(now[name])) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if tidemark._spelt_alike(now.get('sequence_by', [])) != tidemark._spelt_alike(recorded.get('sequence_by', [])) -%}
        {%- do drift.append('sequence_by was ' ~ (tidemark._shown(recorded.get('sequence_by', [])) or 'the order of arrival')
            ~ ' and is now ' ~ (tidemark._shown(now.get('sequence_by', [])) or 'the order of arrival')) -%}
    {%- endif -%}
    {%- if now.get('pepper') and recorded.get('pepper') and now['pepper'] != recorded['pepper'] -%}
        {%- do drift.append('the pepper (TIDEMARK_PEPPER) is not the one that the stored hashes were made with') -%}
    {%- endif -%}
    {%- for column in plan['columns'] -%}
        {%- set known = recorded['columns'] | selectattr('name', 'equalto', column['name']) | first | default(none) -%}
        {%- if known is not none -%}
            {%- set role = tidemark.column_role(column) -%}
            {%- if column['source_type'] is none and role == 'compared' and cfg['extract'] != 'events'
                and column['name'] | lower not in recorded.get('not_yet', []) -%}
                {%- do drift.append('compared column `' ~ column['name'] ~ '` is no longer in the extract' ~ origin
                    ~ ' (yield `cast(null as ' ~ known['type'] ~ ')` for it, if NULL is now its value; if it is gone for good: dbt run-operation rehash --args \'{entity: ' ~ cfg['entity'] ~ ', drop: [' ~ column['name'] ~ ']}\')') -%}
            {%- endif -%}
            {%- if role != known['role'] and 'key' not in [role, known['role']] -%}
                {%- do drift.append('column `' ~ column['name'] ~ '` was ' ~ known['role'] ~ ' and is now ' ~ role) -%}
            {%- endif -%}
            {%- if (column.get('compare_as') or '') != (known.get('compare_as') or '') -%}
                {%- do drift.append('column `' ~ column['name'] ~ '` was compared ' ~ ('as ' ~ known['compare_as'] if known.get('compare_as') else 'as it is')
                    ~ ' and is now compared ' ~ ('as ' ~ column['compare_as'] if column.get('compare_as') else 'as it is')) -%}
            {%- endif -%}
            {%- if column['sensitive'] != known['sensitive'] -%}
                {%- do drift.append('column `' ~ column['name'] ~ '` was ' ~ ('' if known['sensitive'] else 'not ')
                    ~ 'sensitive and is now ' ~ ('' if column['sensitive'] else 'not ') ~ 'sensitive') -%}
            {%- endif -%}
            {%- if column['type'] != known['type'] and not tidemark.wider_type(known['type'], column['type'], cfg['file_format']) -%}
                {%- set declared = cfg['columns'] | selectattr('data_type') | map(attribute='name') | map('lower') | list -%}
                {%- do drift.append('column `' ~ column['name'] ~ '` was ' ~ known['type'] ~ ' and is now ' ~ column['type']
                    ~ ('' if column['name'] | lower in declared else ' in the source (declare `data_type: ' ~ known['type']
                    ~ '` for it in the YAML: values are cast to it, and one that cannot be is a reject)')) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(drift) }}
{%- endmacro -%}

{#- What the choice of columns cannot take or leave on a table without key: its rows are found by all values that are stored. -#}
{%- macro choice_drift(plan, recorded) -%}
    {%- set drift = [] -%}
    {%- for column in plan['columns'] if not plan['keyed'] -%}
        {%- set is_new = column['recorded_type'] is none and column['name'] | lower in (recorded.get('excluded') or []) -%}
        {%- if column.get('stays') or is_new -%}
            {%- do drift.append('columns ' ~ ('takes' if is_new else 'leaves out') ~ ' `' ~ column['name'] ~ '`, which it '
                ~ ('left out' if is_new else 'took') ~ ' so far, and without unique_key a row is found by all its values') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(drift) }}
{%- endmacro -%}

{#- Keys in the order of the hashes that are stored, where the YAML has the same ones in another. Not those that the model hashes
    itself: its order is not known. -#}
{%- macro keys_in_order(cfg, recorded) -%}
    {%- set known = (recorded or {}).get('keys') or [] -%}
    {%- if not cfg['stored_hashes'] and known | map('lower') | sort == cfg['keys'] | map('lower') | sort -%}{{ return(known) }}{%- endif -%}
    {{ return(cfg['keys']) }}
{%- endmacro -%}

{#- Columns and expressions as they are compared: without regard to case where Spark has none, that is, without literals, fields and paths. -#}
{%- macro _spelt_alike(expressions) -%}
    {%- set spelt = [] -%}
    {%- for expression in expressions -%}
        {%- set text = expression | trim -%}
        {%- set plain = modules.re.fullmatch('`[^`]*`', text) or modules.re.fullmatch('[\\w\\s(),+*/-]*', text) -%}
        {%- do spelt.append(text | lower | replace('`', '') if plain else text) -%}
    {%- endfor -%}
    {{ return(spelt) }}
{%- endmacro -%}

{%- macro _shown(value) -%}
    {{ return(value | join(', ') if value is sequence and value is not string else value | string) }}
{%- endmacro -%}

{#- What a column is to the comparison of rows. -#}
{%- macro column_role(column) -%}
    {%- if column['key'] -%}{{ return('key') }}{%- endif -%}
    {{ return('ignored' if column['ignored'] else 'compared') }}
{%- endmacro -%}

{#- How a table is laid out by the YAML, to be recorded. It is made so once: another layout is no drift, but nothing follows it. -#}
{%- macro recorded_layout(cfg) -%}
    {%- set properties = {} -%}
    {%- for name, value in cfg['table_properties'].items() -%}{%- do properties.update({name: value | string}) -%}{%- endfor -%}
    {{ return({'partition_by': cfg['partition_by'] or [], 'liquid_clustered_by': cfg['cluster_by'] or [], 'tblproperties': properties}) }}
{%- endmacro -%}

{#- Which of that is not as the last commit recorded it; nothing where that was of an earlier version. -#}
{%- macro changed_layout(cfg, recorded) -%}
    {%- set before, names = recorded.get('layout'), [] -%}
    {%- for name, value in tidemark.recorded_layout(cfg).items() if before and before[name] != value -%}{%- do names.append(name) -%}{%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}
