{#- What `tidemark feed` asks for. The command runs the query itself, so that rows need not fit into memory:
    `line` is a row without `_change`, `change` its JSON, which goes in untouched: numbers keep their digits.
    -#}
{%- macro feed_query(entity, from=none, to=none, images=none, net=false, where=none, limit=none) -%}
    {%- set node = tidemark.entity_node(entity, ['cdc', 'feed']) -%}
    {%- set relation = api.Relation.create(database=node['database'], schema=node['schema'],
        identifier=node['alias']) -%}
    {%- set macro_name = 'net_changes' if tidemark.is_true(net) else 'change_feed' -%}
    {%- set states = tidemark.commits_relations(tidemark.run_config())['states'] -%}
    {%- if not tidemark.relation_exists(states) -%}
        {%- do tidemark.raise_error('data',
            entity ~ ': there are no changes, as nothing was loaded yet: ' ~ states
            ~ ' is not there. Run the model first') -%}
    {%- endif -%}
    {#- the number of states rises with each, also where the clock has gone back -#}
    {%- set news_sql = "select concat_ws(' ', cast(count(*) as string), cast(max(state_at) as string)) from "
        ~ states ~ ' where relation = '
        ~ tidemark.string_literal(node['schema'] ~ '.' ~ node['alias']) -%}
    {%- set news = run_query(news_sql)[0][0] -%}
    {%- set feed = dict(tidemark.feed_range(relation, {'from': from, 'to': to, 'images': images}, macro_name),
        ordered=true) -%}
    {%- set has_change = true -%}
    {%- if feed.get('kept') -%}
        {%- set query = tidemark.kept_feed_sql(relation, feed['names'], feed, true) -%}
        {%- set texts = tidemark.describe_query('select * from ' ~ relation) | selectattr('type', 'equalto',
            'string') | map(attribute='name') | list -%}
        {%- set has_change = '_change' in texts -%}
    {%- else -%}
        {%- set query = (tidemark.net_changes_sql if macro_name == 'net_changes'
            else tidemark.change_feed_sql)(feed) -%}
    {%- endif -%}
    {%- do log('tidemark feed ' ~ tojson({
        'sql': tidemark.feed_lines_sql(query, has_change, where, limit),
        'to': feed.get('cursor') or feed['to'], 'states': states | string, 'news_sql': news_sql,
        'news': news | string,
    }), info=true) -%}
{%- endmacro -%}
