{#- What commits changed in an entity's current table, one row per change, in the order of the commits.
    Without ends it goes from the beginning to the last completed commit; in a model that is `materialized:
    feed`, from where its last run ended. The relation may also be such a model. -#}
{%- macro change_feed(relation, from=none, to=none, images=none, format='json', ordered=true) -%}
    {{ return(tidemark.feed_of(relation, {'from': from, 'to': to, 'images': images, 'format': format},
        ordered, 'change_feed')) }}
{%- endmacro -%}

{#- The same with one row per key: the difference between the start and the end of the range. An insert that
    was deleted again is nothing; an insert that was updated is an insert; two updates are one, from the first
    row to the last. -#}
{%- macro net_changes(relation, from=none, to=none, images=none, format='json', ordered=true) -%}
    {{ return(tidemark.feed_of(relation, {'from': from, 'to': to, 'images': images, 'format': format},
        ordered, 'net_changes')) }}
{%- endmacro -%}

{#- The incremental pull: the changes of an entity, or of several as one unit, in columns that are the same
    for all, with `_entity`. It never goes past a commit in flight, so that nothing is skipped when that
    completes. -#}
{%- macro changes_between(relations, from=none, to=none, images=none, ordered=true) -%}
    {%- if not execute -%}{{ return('select 1 as _commit_id') }}{%- endif -%}
    {%- set wanted = relations if relations is sequence and relations is not string else [relations] -%}
    {%- set names, parts = [], [] -%}
    {%- for relation in wanted -%}
        {%- do tidemark._check_entity_relation(relation, 'changes_between') -%}
        {%- do names.append(relation.schema ~ '.' ~ relation.identifier) -%}
    {%- endfor -%}
    {#- A view asks each time that it is read how far that is. -#}
    {%- set waits = to is none and not tidemark.is_read_later() -%}
    {%- set ends = tidemark.unit_ends(names) if waits else {} -%}
    {%- for relation in wanted -%}
        {%- set name = names[loop.index0] -%}
        {%- set asked = {'from': from, 'to': ends.get(name, 0) if waits else to, 'images': images,
            'waits': waits} -%}
        {%- set feed = dict(tidemark.feed_range(relation, asked, 'changes_between'), ordered=false, unit=names
            if to is none else none) -%}
        {%- do parts.append({
            'entity': tidemark.name_in_unit(name, names), 'has_sequence': feed['roles']['flow'] == 'events',
            'sql': tidemark.pull_mark(feed) ~ tidemark.change_feed_sql(feed),
        }) -%}
    {%- endfor -%}
    {%- set order = '\norder by _commit_time asc nulls last, _commit_id asc nulls last, _sequence_num asc '
        ~ 'nulls first, _key_hash asc nulls last, '
        ~ '_position asc nulls last' if ordered and not tidemark.is_feed_model() else '' -%}
    {{ return(tidemark.union_feeds_sql(parts) ~ order) }}
{%- endmacro -%}

{#- What tells an entity of a unit: its name, with its schema where that alone does not tell it. -#}
{%- macro name_in_unit(name, names) -%}
    {%- set short, same = name.split('.')[-1], [] -%}
    {%- for other in names if other.split('.')[-1] == short -%}{%- do same.append(other) -%}{%- endfor -%}
    {{ return(name if same | length > 1 else short) }}
{%- endmacro -%}

{%- macro feed_of(relation, asked, ordered, macro_name) -%}
    {%- do tidemark._check_entity_relation(relation, macro_name) -%}
    {%- if not execute -%}{{ return('select 1 as _commit_id') }}{%- endif -%}
    {%- set feed = dict(tidemark.feed_range(relation, asked, macro_name),
        ordered=ordered and not tidemark.is_feed_model()) -%}
    {%- if feed.get('kept') -%}
        {{ return(tidemark.pull_mark(feed)
            ~ tidemark.kept_feed_sql(relation, feed['names'], feed, feed['ordered'])) }}
    {%- endif -%}
    {%- set generate = tidemark.net_changes_sql if macro_name == 'net_changes'
        else tidemark.change_feed_sql -%}
    {{ return(tidemark.pull_mark(feed) ~ generate(feed)) }}
{%- endmacro -%}

{#- What tells the `feed` materialization, which sees the SQL alone, what it reads and how far, of a feed with
    several entities by entity. -#}
{%- macro pull_mark(feed) -%}
    {%- set more = {} -%}
    {%- for name in ['read', 'late', 'kept_from', 'own'] if feed.get(name) -%}
        {%- do more.update({name: feed[name]}) -%}
    {%- endfor -%}
    {{ return('/* tidemark pull ' ~ feed['source'] ~ ' (' ~ feed['from'] ~ ', ' ~ feed['to'] ~ ']'
        ~ (' ' ~ tojson(more) if more else '') ~ ' */\n'
        if feed['to'] is not none else '') }}
{%- endmacro -%}

{#- Whether the model that is being compiled keeps a feed. -#}
{%- macro is_feed_model() -%}
    {{ return(model is defined and (model.get('config') or {}).get('materialized') == 'feed') }}
{%- endmacro -%}
