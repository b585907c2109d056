{#- clean() of a `materialized: feed` model: changes of commits that its `feed_retention` does not keep any more go, but none that a
    feed which reads this one has not read yet. -#}
{%- macro clean_feed(node, dry_run, vacuum, retention) -%}
    {%- set settings = (node['config'].get('meta') or {}).get('tidemark', {}) -%}
    {%- set errors = [] -%}
    {%- set length = tidemark._retention(retention.get('feed', settings.get('feed_retention')), 'feed_retention', errors) -%}
    {%- do tidemark._raise_config_errors(node['alias'], errors) -%}
    {%- set relation = api.Relation.create(database=node['database'], schema=node['schema'], identifier=node['alias'], type='table') -%}
    {%- set name = node['schema'] ~ '.' ~ node['alias'] -%}
    {%- set run = tidemark.run_config() -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- if length is none or not tidemark.relation_exists(relation) -%}
        {%- do tidemark.say(node['alias'], 'keeps all changes (feed_retention is not set), nothing to clean' if length is none else 'was not built yet, nothing to clean') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set horizon = run_query(tidemark.feed_horizon_sql(commits['states'], name, length))[0][0] | int -%}
    {%- set condition = '_commit_id <= ' ~ horizon ~ ' and _commit_date <= ' ~ tidemark.commit_date_expr(horizon) -%}
    {%- set count = run_query('select count(*) from ' ~ relation ~ ' where ' ~ condition)[0][0] if horizon else 0 -%}
    {%- do tidemark.say(node['alias'], ('would remove ' if dry_run else 'removing ') ~ count ~ ' changes; they can be asked from commit ' ~ horizon ~ ' on') -%}
    {%- if count and not dry_run -%}
        {%- set commit = {
            'commit_id': tidemark.next_commit_id(run_query(tidemark.last_commit_id_sql(commits['states'], name))[0][0]),
            'relation': name, 'entity': node['alias'], 'kind': 'clean', 'started_at': tidemark.utc_now(),
            'invocation_id': run['invocation_id'], 'source_commit_id': horizon,
            'details': tojson({'retention': {'feed': length}, 'removed': {node['alias']: count}, 'vacuum': vacuum}),
        } -%}
        {%- do tidemark.record_commit(commits, commit, 'inflight', {}) -%}
        {%- do run_query('delete from ' ~ relation ~ ' where ' ~ condition) -%}
        {%- if vacuum -%}{%- do tidemark.vacuum_tables([relation]) -%}{%- endif -%}
        {%- do tidemark.record_commit(commits, commit, 'completed', {}) -%}
    {%- endif -%}
{%- endmacro -%}
