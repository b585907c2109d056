{#- Make the log of an entity from a table with intervals: each date at whose end other rows hold is loaded as a full extract of that date, with
    the checks, hashes and types of the model, then the log is replayed and compared with the table. Run again, it goes on where it stopped. -#}
{%- macro adopt(entity, table, valid_from='dbt_valid_from', valid_to='dbt_valid_to', inclusive=false, dry_run=false) -%}
    {%- do tidemark.check_loads(entity) -%}
    {%- set dry = tidemark.is_true(dry_run) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- if cfg['extract'] != 'full' -%}
        {%- do tidemark.raise_error('usage', 'adopt is for extract: full; ' ~ entity ~ ' has extract: ' ~ cfg['extract']) -%}
    {%- endif -%}
    {%- set cfg = dict(cfg, location=none) -%}
    {%- set run = dict(tidemark.run_config(), dry_run=dry, allow_deletes=true) -%}
    {%- set versions = tidemark.adopted_versions(cfg, table, valid_from, valid_to, tidemark.is_true(inclusive)) -%}
    {%- set dates = tidemark.adopted_dates(cfg, versions) -%}
    {%- set opened = tidemark.open_load(cfg, run) -%}
    {%- set loaded = tidemark.adopted_so_far(opened, dates) -%}

    {%- do tidemark.say(entity, ('would load ' if dry else 'loading ') ~ dates | length ~ ' business dates from '
        ~ versions['figures']['version_count'] ~ ' versions of ' ~ table ~ ': ' ~ dates[0] ~ (' to ' ~ dates[-1] if dates | length > 1 else '')
        ~ (' (' ~ loaded | length ~ ' of them are loaded)' if loaded else '')) -%}
    {%- if versions['figures']['within_count'] | int > 0 -%}
        {%- do tidemark.say(entity, versions['figures']['within_count'] ~ ' versions began and ended within a day, which an entity of business dates does not keep') -%}
    {%- endif -%}
    {%- if not dry -%}
        {%- for date in dates if date not in loaded -%}
            {%- set figures = tidemark.load_entity(
                tidemark.opened_anew(opened, dict(run, business_date=date)), tidemark.adopted_extract_sql(versions, date)
            ) -%}
            {%- do tidemark.say(entity, '  ' ~ loop.index ~ ' of ' ~ loop.length ~ ', ' ~ date ~ ': ' ~ tidemark.summary(figures)) -%}
        {%- endfor -%}
        {%- do tidemark.check_adopted(opened, versions, dates, table) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What is to know of a table with intervals: its columns as the model has them, and what dbt put to them; an error for what is missing. -#}
{%- macro adopted_versions(cfg, table, valid_from, valid_to, inclusive) -%}
    {%- set parts = table.split('.') -%}
    {%- set relation = adapter.get_relation(database=none, schema=parts[-2] if parts | length > 1 else target.schema, identifier=parts[-1]) -%}
    {%- if relation is none -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': there is no table ' ~ table ~ ' to adopt; name it as <schema>.<table>') -%}
    {%- endif -%}
    {%- set found = tidemark.names_in(relation) -%}
    {%- set lower = found | map('lower') | list -%}
    {%- set errors = [] -%}
    {%- for argument, name in [('valid_from', valid_from), ('valid_to', valid_to)] if name | lower not in lower -%}
        {%- do errors.append(argument ~ ' names column `' ~ name ~ '`, which ' ~ table ~ ' does not have' ~ tidemark._did_you_mean(name, found)) -%}
    {%- endfor -%}
    {%- for name in cfg['keys'] if name | lower not in lower -%}
        {%- do errors.append('unique_key names column `' ~ name ~ '`, which ' ~ table ~ ' does not have' ~ tidemark._did_you_mean(name, found)) -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {%- set meta = ['dbt_scd_id', 'dbt_updated_at', 'dbt_valid_from', 'dbt_valid_to', 'dbt_is_deleted', valid_from | lower, valid_to | lower] -%}
    {%- set columns = [] -%}
    {%- for name in found if name | lower not in meta -%}{%- do columns.append(tidemark.quote_identifier(name)) -%}{%- endfor -%}
    {%- for column in cfg['columns'] if column['name'] | lower not in lower -%}
        {%- do columns.append('cast(null as ' ~ (column['data_type'] or 'string') ~ ') as ' ~ tidemark.quote_identifier(column['name'])) -%}
    {%- endfor -%}
    {%- set versions = {
        'table': relation, 'columns': columns, 'from': valid_from, 'to': valid_to, 'inclusive': inclusive,
        'deleted': 'dbt_is_deleted' if 'dbt_is_deleted' in lower else none,
    } -%}
    {%- do versions.update({'figures': tidemark.query_rows(tidemark.adopted_figures_sql(versions, cfg['keys']))[0]}) -%}
    {{ return(versions) }}
{%- endmacro -%}

{#- The dates to load; an error for intervals that are none. -#}
{%- macro adopted_dates(cfg, versions) -%}
    {%- set figures = versions['figures'] -%}
    {%- set wrong = [] -%}
    {%- for name, text in [
        ('beginless_count', 'without ' ~ versions['from']),
        ('reversed_count', 'that end before they begin'),
        ('overlapping_count', 'that hold while the next one of their key does, such as ' ~ figures['overlapping_key']),
    ] if figures[name] | int > 0 -%}
        {%- do wrong.append('versions ' ~ text ~ ': ' ~ figures[name]) -%}
    {%- endfor -%}
    {%- if wrong -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ versions['table'] ~ ' has intervals that are none; nothing was written\n  - ' ~ wrong | join('\n  - ')
            ~ '\nAdopt a table or view without them' ~ ('' if versions['inclusive'] else '; where ' ~ versions['to'] ~ ' is the last day of a version, say inclusive: true')
        ) -%}
    {%- endif -%}
    {%- set dates = tidemark.query_rows(tidemark.adopted_dates_sql(versions)) | map(attribute='business_date') | list -%}
    {%- if not dates -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': ' ~ versions['table'] ~ ' has no versions to adopt') -%}
    {%- endif -%}
    {{ return(dates) }}
{%- endmacro -%}

{#- The dates that an adoption before this one has loaded; an error if the entity has others. -#}
{%- macro adopted_so_far(opened, dates) -%}
    {%- set cfg, commits, state = opened['cfg'], opened['commits'], opened['state'] -%}
    {%- if not state['recorded'] -%}{{ return([]) }}{%- endif -%}
    {%- set timeline = tidemark.timeline(commits, cfg['relation']) -%}
    {%- set loaded = adapter.call_function('tidemark.rules.timeline.loaded_dates', timeline) -%}
    {%- set others = loaded | reject('in', dates) | list -%}
    {%- if others -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ' has loaded ' ~ others | first ~ ' by itself: adopt begins a log. Take another name for the model, or drop it first: '
            ~ 'dbt run-operation drop_entity --args \'{entity: ' ~ cfg['entity'] ~ '}\''
        ) -%}
    {%- endif -%}
    {{ return(loaded) }}
{%- endmacro -%}

{#- Compare the log replayed, and current, with the table. -#}
{%- macro check_adopted(opened, versions, dates, table) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {#- of calls before this one, too -#}
    {%- set rejected = tidemark.row_count(relations['rejects']) if tidemark.relation_exists(relations['rejects']) else 0 -%}
    {%- set differences = tidemark.query_rows(tidemark.adopted_differences_sql(versions, relations['log'], dates)) -%}
    {%- if differences and not rejected -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': the log replayed has other rows than ' ~ table ~ ' at the end of ' ~ differences[0]['date_count']
            ~ ' dates, first of ' ~ differences[0]['first_date'] ~ '. Was the table written to meanwhile? Drop the entity and adopt again'
        ) -%}
    {%- endif -%}
    {%- do tidemark.say(cfg['entity'], 'adopted ' ~ table ~ (
        ': replayed, the log has its rows at the end of every date' if not differences
        else ', without the ' ~ rejected ~ ' rows in ' ~ relations['rejects']
    )) -%}
{%- endmacro -%}
