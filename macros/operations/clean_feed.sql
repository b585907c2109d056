{#- clean() of a `materialized: feed` model: changes of commits that its `feed_retention` does not keep any more go, but none that a
    feed which reads this one has not read yet. -#}
{%- macro clean_feed(node, dry_run, vacuum, retention) -%}
    {%- do tidemark.check_loads(node['alias']) -%}
    {%- set settings = (node['config'].get('meta') or {}).get('tidemark', {}) -%}
    {%- set errors = [] -%}
    {%- set length = tidemark._retention(retention.get('feed', settings.get('feed_retention')), 'feed_retention', errors) -%}
    {%- do tidemark._raise_config_errors(node['alias'], errors) -%}
    {%- set relation = api.Relation.create(database=node['database'], schema=node['schema'], identifier=node['alias'], type='table') -%}
    {%- set name = node['schema'] ~ '.' ~ node['alias'] -%}
    {%- set run = tidemark.run_config() -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set is_built = tidemark.relation_exists(relation) -%}
    {%- if length is none or not is_built -%}
        {%- do tidemark.say(node['alias'], 'keeps all changes (feed_retention is not set), nothing to clean' if length is none else 'was not built yet, nothing to clean') -%}
        {%- if vacuum and is_built -%}{%- do tidemark.vacuum_or_tell(node['alias'], [relation], dry_run) -%}{%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set marks = tidemark.feed_horizons(commits, name, length) -%}
    {%- set horizon = tidemark.last_mark(marks) -%}
    {%- set end = {'at': horizon, 'marks': marks, 'before': marks} -%}
    {%- set has_entity = '_entity' in tidemark.names_in(relation) -%}
    {%- set later = tidemark.feed_stragglers(commits, marks.keys() | list, {'from': end}, {'from': horizon, 'to': horizon}, has_entity)['late']
        if marks | length > 1 else [] -%}
    {%- set condition = '_commit_id <= ' ~ horizon ~ ' and _commit_date <= ' ~ tidemark.commit_date_expr(horizon)
        ~ (' and not (' ~ tidemark.of_commits_expr(later) ~ ')' if later else '') -%}
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
    {%- elif vacuum -%}
        {%- do tidemark.vacuum_or_tell(node['alias'], [relation], dry_run) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The commit of each entity of a feed up to which it may be cleaned: the last that it had read so long ago, and no further than every
    feed that reads it has come. -#}
{%- macro feed_horizons(commits, name, length) -%}
    {%- set last = tidemark.last_pulls(commits) -%}
    {%- set long_ago = tidemark.query_rows(tidemark.last_pulls_sql(commits['states'], 'completed_at <= current_timestamp() - interval ' ~ length)) -%}
    {%- set marks = tidemark.feed_marks(commits, long_ago, name) -%}
    {%- for pull in last if pull['source_relation'] == name -%}
        {%- set read = tidemark.marks_of_pull(commits, last, pull) -%}
        {%- for entity, mark in marks.items() -%}{%- do marks.update({entity: [mark, read.get(entity, 0)] | min}) -%}{%- endfor -%}
    {%- endfor -%}
    {{ return(marks) }}
{%- endmacro -%}
