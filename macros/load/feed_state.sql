{#- What is to be done: the pulls of the body, whether the table is made anew, its columns, the commit that is to record it. -#}
{%- macro feed_state(cfg, run, relation, commits, body) -%}
    {%- set pulls = tidemark.pulls_of(body) -%}
    {%- if not pulls -%}
        {%- do tidemark.raise_error('configuration',
            cfg['model'] ~ ": the body of a feed is a SELECT over tidemark.change_feed(ref('…')), net_changes or changes_between, without from and to"
        ) -%}
    {%- endif -%}
    {%- set columns = tidemark.describe_query(body) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- for name in ['_commit_id'] + (['_key_hash'] if cfg['buckets'] > 1 else []) + (['_entity'] if pulls | length > 1 else []) if name not in names -%}
        {%- do tidemark.raise_error('configuration', cfg['model'] ~ ': the body must yield `' ~ name ~ '`') -%}
    {%- endfor -%}
    {%- for name in names if name in ['_commit_date', '_bucket'] -%}
        {%- do tidemark.raise_error('configuration', cfg['model'] ~ ': `' ~ name ~ '` is a column that the feed adds itself: leave it out of the body') -%}
    {%- endfor -%}
    {%- do tidemark.check_pulls(cfg, pulls) -%}
    {%- set exists = tidemark.relation_exists(relation) -%}
    {%- set news = [] -%}
    {%- for pull in pulls if pull['to'] > pull['from'] or pull['late'] -%}{%- do news.append(pull) -%}{%- endfor -%}
    {#- A table made before anything was loaded has columns as far as they were known: it gives way to one with those that came. -#}
    {%- set unread = exists and news and pulls | map(attribute='from') | max == 0 and not tidemark.has_rows(relation) -%}
    {%- set state = {
        'pulls': pulls,
        'columns': columns,
        'exists': exists,
        'build': not exists or (not run['empty'] and (pulls[0]['own']['anew'] or unread)),
        'is_news': news | length > 0 and not run['empty'],
    } -%}
    {%- do state.update(tidemark.unrecorded_rows(cfg, relation, commits, state)) -%}
    {%- if state['unrecorded'] -%}{%- do tidemark.check_sources(cfg, commits, pulls) -%}{%- endif -%}
    {%- set last = tidemark.query_rows(tidemark.last_commit_id_sql(commits['states'], cfg['relation']))[0] -%}
    {%- if state['is_news'] or state['build'] -%}{%- do tidemark.check_own_run(cfg, relation, state, last['read_id']) -%}{%- endif -%}
    {{ return(dict(state, commit_id=tidemark.next_commit_id(last['last_id']))) }}
{%- endmacro -%}

{#- Another run of this feed may have come in between since the body was compiled: what that has read would be read again. Asked after
    rows were found that nobody has recorded, so that they are not those of a run that just did. -#}
{%- macro check_own_run(cfg, relation, state, last_commit_id) -%}
    {%- set own = state['pulls'][0]['own'] -%}
    {%- if own['last'] != last_commit_id or own['exists'] != state['exists'] or not (state['build'] or not tidemark.is_unfinished(relation, last_commit_id)) -%}
        {%- do tidemark.raise_error('data', tidemark.other_run_message(cfg['model'])) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What a compiled body reads, from the marks that the feed macros leave in it: {source, from, to}, and of a feed with several entities
    how far it is read of each (`read`) and what came late (`late`); `kept_from` where it has not all: see kept_from(). -#}
{%- macro pulls_of(body) -%}
    {%- set pulls = [] -%}
    {%- for source, from, to, more in modules.re.findall('/\\* tidemark pull ([^ ]+) \\(([0-9]+), ([0-9]+)\\](?: (\\{.*?\\}))? \\*/', body) -%}
        {%- set more = fromjson(more or '{}') -%}
        {%- do pulls.append({'source': source, 'from': from | int, 'to': to | int, 'read': more.get('read'), 'late': more.get('late', []),
            'kept_from': more.get('kept_from'), 'own': more.get('own')}) -%}
    {%- endfor -%}
    {{ return(pulls) }}
{%- endmacro -%}

{#- A source that the body names twice has one mark: where it got a commit between the two, one of them would never see that. -#}
{%- macro check_pulls(cfg, pulls) -%}
    {%- set ends = {} -%}
    {%- for pull in pulls if ends.setdefault(pull['source'], pull['to']) != pull['to'] -%}
        {%- do tidemark.raise_error('data',
            cfg['model'] ~ ': the body reads ' ~ pull['source'] ~ ' up to commit ' ~ ends[pull['source']] ~ ' and up to commit ' ~ pull['to']
            ~ ', as it is being loaded, or one with it that changes_between waits for; nothing was written. Run it again'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Add the columns that the body has got since; a type that changed is an error. -#}
{%- macro add_feed_columns(cfg, relation, state) -%}
    {%- do tidemark.add_missing_columns(cfg['model'], relation, tidemark.feed_columns(cfg, state['columns']), open_structs=true) -%}
{%- endmacro -%}

{#- Bring a table that only grows up to these columns: new ones are added, types widened, another change is an error, but for structs if
    Delta may add fields to them when it writes. -#}
{%- macro add_missing_columns(model, relation, columns, open_structs=false) -%}
    {%- set stored = tidemark.by_name(tidemark.describe_query('select * from ' ~ relation)) -%}
    {%- set missing, nulls = [], [] -%}
    {%- for column in columns -%}{%- do nulls.append('cast(null as ' ~ column['type'] ~ ')') -%}{%- endfor -%}
    {#- as Spark writes the types -#}
    {%- set types = tidemark.describe_query('select ' ~ nulls | join(', ')) | map(attribute='type') | list -%}
    {%- for column in columns -%}
        {%- set type, wanted = stored.get(column['name'] | lower, {}).get('type'), types[loop.index0] -%}
        {%- if type is none -%}
            {%- do missing.append({'name': column['name'], 'type': column['type'], 'description': column.get('description', '')}) -%}
        {%- elif tidemark.is_kept_as(type, wanted, tidemark.lake_format()) -%}
        {%- elif open_structs and wanted.startswith('struct<') -%}
            {%- do tidemark.take_names(relation, [{'name': '', 'type': wanted}]) -%}
        {#- rows are inserted by the places of fields -#}
        {%- elif tidemark.wider_type(type, wanted, tidemark.lake_format()) == wanted -%}
            {%- do tidemark.widen_columns(relation, [{'name': column['name'], 'from': type, 'type': wanted}]) -%}
        {%- else -%}
            {%- do tidemark.raise_error('data',
                model ~ ': column `' ~ column['name'] ~ '` was ' ~ type ~ ' and is now ' ~ column['type'] ~ ': build the table again with --full-refresh'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do tidemark.add_columns(relation, missing) -%}
{%- endmacro -%}

{#- Which rows of a feed are of commits that this run reads: `after`, the greatest commit that comes before them all, and `others`, their
    condition. There are some (`unrecorded`) where a run appended them and died before it recorded how far it had read. -#}
{%- macro unrecorded_rows(cfg, relation, commits, state) -%}
    {%- set conditions, ends, has_entity = [], [], '_entity' in state['columns'] | map(attribute='name') -%}
    {%- set sources = state['pulls'] | map(attribute='source') | list -%}
    {%- set has_several = sources | unique | list | length > 1 -%}
    {#- One entity may have been one of several before, whose changes stay. -#}
    {%- set is_one_of_old = has_entity and not has_several and not state['pulls'][0]['read'] and state['is_news'] and not state['build']
        and tidemark.sources_of_feed(cfg, commits) | reject('equalto', sources[0]) | list | length > 0 -%}
    {%- for pull in state['pulls'] -%}
        {%- set names = [tidemark.name_in_unit(pull['source'], sources)] -%}
        {%- if is_one_of_old -%}{%- do names.append(pull['source']) -%}{%- endif -%}
        {%- for entity in (pull['read'] or {}).keys() if entity not in sources -%}{%- do names.append(tidemark.name_in_unit(entity, sources + [entity])) -%}{%- endfor -%}
        {#- A commit of the same id as another entity's is known by `_entity` alone. -#}
        {%- set late = pull['late'] if has_entity else pull['late'] | rejectattr('entity') | list -%}
        {%- do conditions.append(tidemark.after_expr(pull['from'], late)
            ~ (' and _entity in (' ~ tidemark.string_literals(names) ~ ')' if is_one_of_old or has_several else '')) -%}
        {%- do ends.append(pull['from']) -%}
        {%- for commit in late -%}{%- do ends.append(commit['commit_id'] - 1) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set others = '(' ~ conditions | unique | join(' or ') ~ ')' -%}
    {%- if ends | min > 0 -%}{%- set others = others ~ ' and _commit_date >= ' ~ tidemark.commit_date_expr(ends | min) -%}{%- endif -%}
    {{ return({
        'after': ends | min, 'others': others,
        'unrecorded': state['is_news'] and not state['build'] and tidemark.has_rows(relation, others),
    }) }}
{%- endmacro -%}

{#- Rows of a source that no run of the feed has read are none that a dead run left, unless that was its first: a feed that reads another
    source than before would lose what it keeps of that. -#}
{%- macro check_sources(cfg, commits, pulls) -%}
    {%- if pulls | map(attribute='from') | min > 0 -%}{{ return(none) }}{%- endif -%}
    {%- set known = tidemark.sources_of_feed(cfg, commits) -%}
    {%- set sources = pulls | map(attribute='source') | unique | list -%}
    {%- if known and sources | length == 1 and sources[0] not in known -%}
        {%- do tidemark.raise_error('configuration',
            cfg['model'] ~ ': it reads ' ~ sources[0] ~ ', and its table has changes of ' ~ known | join(', ') ~ '; nothing was written. Give the feed of '
            ~ sources[0] ~ ' another name, or build this one again with --full-refresh'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The relations that runs of a feed have read. -#}
{%- macro sources_of_feed(cfg, commits) -%}
    {{ return(tidemark.first_column('select distinct source_relation from ' ~ commits['states'] ~ " where kind = 'feed' and state = 'completed' and relation = "
        ~ tidemark.string_literal(cfg['relation']) ~ ' order by 1')) }}
{%- endmacro -%}

{#- The statement that appends to a feed. -#}
{%- macro append_to_feed(cfg, relation, state, body) -%}
    {%- set names = tidemark.feed_columns(cfg, state['columns']) | map(attribute='name') | list -%}
    {%- set rows = tidemark.feed_rows_sql(relation, cfg, state, body) -%}
    {{ return(tidemark.for_format(cfg['file_format'], 'append_to_feed')(relation, names, rows, state['after'])[0]) }}
{%- endmacro -%}

{#- Record how far the feed has read each of its sources, all as of one moment. -#}
{%- macro record_pulls(cfg, run, commits, state) -%}
    {%- set rows = load_result('main')['table'].rows if state['is_news'] and load_result('main')['table'] else [] -%}
    {%- set started_at = tidemark.utc_now() -%}
    {%- for pull in state['pulls'] -%}
        {%- set details = {} -%}
        {%- for name in ['read', 'kept_from'] if pull[name] -%}{%- do details.update({name: pull[name]}) -%}{%- endfor -%}
        {%- do tidemark.record_commit(commits, {
            'commit_id': state['commit_id'] + loop.index0,
            'relation': cfg['relation'],
            'entity': cfg['model'],
            'kind': 'feed',
            'started_at': started_at,
            'invocation_id': run['invocation_id'],
            'source_relation': pull['source'],
            'source_commit_id': pull['to'],
            'details': tojson(details) if details else none,
        }, 'completed', {
            'rows_inserted': rows[0][0] | int if rows and loop.first else none,
            'current_version_after': tidemark.table_version(cfg['file_format'], this) if loop.first else none,
        }) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- What a feed's table is made with. The folder of a table of a location of its own has rows of before, unless it is replaced. -#}
{%- macro feed_options(cfg, state) -%}
    {%- set partitions = ['_commit_date'] + (['_bucket'] if cfg['buckets'] > 1 else []) -%}
    {%- set properties = dict(cfg['table_properties'], **{'tidemark.feed_commit': state['commit_id'] + state['pulls'] | length - 1}) -%}
    {{ return(dict(cfg, partition_by=partitions, properties=properties, replaces=cfg['location_root'] is not none)) }}
{%- endmacro -%}
