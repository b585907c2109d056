{#- Write events and entities of the commits after `from`, up to `to`, as files for a warehouse loader:

        <path>/run=<last commit>/atomic-events/part-…                       lines of the canonical TSV
        <path>/run=<last commit>/shredded-types/vendor=…/name=…/format=…/version=…/part-…   JSON lines

    A folder of the same last commit is written anew, and is whole once there is atomic-events/_SUCCESS, which comes last. -#}
{%- macro export(entity, path, from=none, to=none, json_columns=true) -%}
    {#- Spark takes the two folders of a relative path to lie in different places. -#}
    {%- if path is not string or not modules.re.match('(/|[A-Za-z][A-Za-z0-9+.-]*:/)', path) -%}
        {%- do tidemark.raise_error('usage',
            'export: path must be a whole one, such as /lake/shredded or s3a://bucket/shredded, found: ' ~ (path if path else 'nothing')
        ) -%}
    {%- endif -%}
    {%- set opened = tidemark.open_atomic(tidemark.entity_node(entity, ['atomic'])) -%}
    {%- set cfg, commits, relations = opened['cfg'], opened['commits'], opened['relations'] -%}
    {%- set span = tidemark.span_of(cfg, commits, {'from': from, 'to': to}, 'export') -%}
    {%- set condition = ' where _commit_id > ' ~ span['from'] ~ ' and _commit_id <= ' ~ span['to'] -%}
    {%- set counts = [
        run_query('select count(*) from ' ~ relations['current'] ~ condition)[0][0] | int,
        run_query('select count(*) from ' ~ relations['entities'] ~ condition)[0][0] | int,
    ] -%}
    {%- set folder = path.rstrip('/') ~ '/run=' ~ span['to'] -%}
    {%- if not counts[0] -%}
        {%- do tidemark.say(entity, 'no events between commits ' ~ span['from'] ~ ' and ' ~ span['to'] ~ ', nothing to export') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set lines = 'insert overwrite directory ' ~ tidemark.string_literal(folder ~ '/atomic-events') ~ ' using text' -%}
    {#- A table over the folder, as `insert overwrite directory` cannot partition; dropping it leaves the files. It is written without
        entities too, so that none of an earlier export stays. -#}
    {%- set files = tidemark.side_relation(cfg['target'], 'slice_export') -%}
    {%- do tidemark.run_statements([
        lines ~ " options ('mapreduce.fileoutputcommitter.marksuccessfuljobs' 'false')\nselect '' as value where false",
        'drop table if exists ' ~ files,
        'create table ' ~ files ~ ' (value string, vendor string, name string, format string, version string) using text '
            ~ "options ('partitionOverwriteMode' 'static') partitioned by (vendor, name, format, version) location "
            ~ tidemark.string_literal(folder ~ '/shredded-types'),
        'insert overwrite ' ~ files ~ '\n' ~ tidemark.exported_entities_sql(relations['entities'], span['from'], span['to']),
        'drop table ' ~ files,
        lines ~ '\n' ~ tidemark.exported_events_sql(relations['current'], span['from'], span['to'], tidemark.is_true(json_columns)),
    ]) -%}
    {%- do tidemark.say(entity, counts[0] ~ ' events and ' ~ counts[1] ~ ' entities of the commits after ' ~ span['from'] ~ ' up to ' ~ span['to'] ~ ' are in ' ~ folder) -%}
{%- endmacro -%}
