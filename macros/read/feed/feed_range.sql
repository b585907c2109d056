{#- What a reading of changes needs: the entity's columns, what is to be shown, and the range as commit ids,
    checked against what is kept and what is in flight. `asked` has from, to, images and, unless it is json,
    format. `to` stays none where the text will be run later, as in a view: then it reads up to the last
    completed commit whenever it is asked. -#}
{%- macro feed_range(relation, asked, macro_name) -%}
    {%- set from, to, format = asked['from'], asked['to'], asked.get('format', 'json') -%}
    {%- if format not in ['json', 'struct'] -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ macro_name ~ ": format must be json or struct, found: '" ~ format ~ "'") -%}
    {%- endif -%}
    {%- set commits = tidemark.commits_relations(tidemark.run_config()) -%}
    {%- set pulls = tidemark.is_feed_model() and from is none -%}
    {%- set kept = tidemark.node_of(relation, ['feed']) -%}
    {%- if kept -%}
        {{ return(tidemark.kept_feed_range(relation, commits, asked, pulls, macro_name)) }}
    {%- endif -%}
    {%- set node = tidemark.node_of(relation) -%}
    {%- if node is none -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ macro_name ~ ': ' ~ relation
            ~ ' is neither a cdc nor a feed model of this project. Give the ref of such a model') -%}
    {%- endif -%}
    {%- set cfg = tidemark.entity_config(node) -%}
    {%- set last = tidemark.last_pulls(commits) if tidemark.is_feed_model() else [] -%}
    {%- set own = tidemark.own_run(last) if tidemark.is_feed_model() else none -%}
    {%- set pull = tidemark.own_pull(last, own, cfg['relation']) if pulls else none -%}
    {%- set start = ((pull or {}).get('source_commit_id') or none) if pulls else from -%}
    {%- set is_later = to is none and tidemark.is_read_later() -%}
    {%- set span = tidemark.span_of(cfg, commits,
        {'from': start, 'to': to, 'waits': asked.get('waits', false)}, macro_name, pulls) -%}
    {%- set kept_from = tidemark.kept_from(pull) -%}
    {%- if pulls and not start and span.get('floor_id') -%}
        {%- set kept_from = {'entities': {cfg['relation']: span['floor_id']}, 'all': span['from']} -%}
    {%- endif -%}
    {{ return({
        'cfg': cfg,
        'source': cfg['relation'],
        'roles': tidemark.recorded_roles(fromjson(span['config']) if span['config'] is string
            else span['config']),
        'relations': tidemark.side_relations(cfg['target']),
        'commits': commits['view'],
        'states': commits['states'],
        'from': span['from'],
        'to': none if is_later else span['to'],
        'has_corrections': is_later or span['correction_count'] | int > 0,
        'images': tidemark.checked_images(cfg, asked['images'], macro_name),
        'format': format,
        'ordered': true,
        'own': own,
        'kept_from': kept_from,
    }) }}
{%- endmacro -%}

{#- The range that a model reads of an entity that has its tables and no commit yet: no rows, in the columns
    of its log. None where an end is asked for that it cannot have. -#}
{%- macro span_before_commits(cfg, from, to) -%}
    {%- set is_model = model is defined and model.get('resource_type') == 'model' -%}
    {%- set log_relation = tidemark.side_relation(cfg['target'], 'log') -%}
    {%- if not is_model or from is not none or to not in [none, 0]
        or not tidemark.relation_exists(log_relation) -%}{{ return(none) }}{%- endif -%}
    {%- set others = tidemark.reserved_columns() -%}
    {%- set keys, ignored = cfg['keys'] | map('lower') | list, cfg['ignore'] | map('lower') | list -%}
    {%- set columns = [] -%}
    {%- for column in tidemark.describe_query('select * from ' ~ log_relation)
        if column['name'] | lower not in others -%}
        {%- set role = tidemark.column_role({'key': column['name'] | lower in keys,
            'ignored': column['name'] | lower in ignored}) -%}
        {%- do columns.append(dict(column, sensitive=false, role=role)) -%}
    {%- endfor -%}
    {%- set recorded = {'extract': cfg['extract'], 'sequence_by': cfg['sequence_by'], 'on_tie': cfg['on_tie'],
        'columns': columns} -%}
    {{ return({'config': recorded, 'from': 0, 'to': 0, 'correction_count': 0}) }}
{%- endmacro -%}

{#- The range of a kept feed, whose rows are taken as they are. What is run later has no end: it reads all
    that the feed has by then. -#}
{%- macro kept_feed_range(relation, commits, asked, pulls, macro_name) -%}
    {%- if macro_name != 'change_feed' -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ macro_name ~ ' reads entities; ' ~ relation.identifier
            ~ ' is a feed. Use tidemark.change_feed') -%}
    {%- endif -%}
    {%- for name in ['from', 'to']
        if asked[name] is not none and not modules.re.fullmatch('[0-9]{1,18}', asked[name] | string) -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.change_feed: ' ~ name ~ ' of a feed must be a commit id, found: ' ~ asked[name]) -%}
    {%- endfor -%}
    {%- set source = relation.schema ~ '.' ~ relation.identifier -%}
    {%- set names = tidemark.names_in(relation) | reject('in', ['_commit_date', '_bucket']) | list -%}
    {%- set last = tidemark.last_pulls(commits) -%}
    {%- set own = tidemark.own_run(last) if tidemark.is_feed_model() else none -%}
    {%- set pull = tidemark.own_pull(last, own, source) if pulls else none -%}
    {%- set span = tidemark.kept_feed_span(commits, last, source, dict(asked, pulls=pulls, pull=pull),
        '_entity' in names) -%}
    {%- set begins = pulls and span['from'] == 0 -%}
    {%- set kept_from = tidemark.kept_from_of_feed(commits, last, source) -%}
    {%- if kept_from and not begins -%}
        {%- do tidemark.check_kept_from(relation, kept_from, span, pulls) -%}
    {%- endif -%}
    {{ return(dict(
        span, kept=true, source=source, names=names, own=own,
        roles={'flow': 'events' if '_sequence_num' in names else none},
        kept_from=kept_from if begins else tidemark.kept_from(pull),
        **({'from': kept_from['all']} if kept_from and begins and not span.get('read') else {})
    )) }}
{%- endmacro -%}

{#- The place from which on a feed has the changes of what it pulled from, as that pull recorded it, none
    where it has them all: `entities`, the commit of each by relation where its log had been cleaned or begun
    anew before the feed was built, and `all`, the greatest one that `clean` left. -#}
{%- macro kept_from(pull) -%}
    {{ return(fromjson((pull or {}).get('details') or '{}').get('kept_from')) }}
{%- endmacro -%}

{#- The same of a feed that is read, with what `clean` took away of itself. -#}
{%- macro kept_from_of_feed(commits, pulls, source) -%}
    {%- set entities, all = {},
        [run_query(tidemark.feed_floor_sql(commits['states'], source))[0][0] | int] -%}
    {%- for pull in pulls if pull['relation'] == source -%}
        {%- set kept = tidemark.kept_from(pull) or {'entities': {}, 'all': 0} -%}
        {%- do all.append(kept['all']) -%}
        {%- for entity, commit_id in kept['entities'].items() -%}{%- do entities.update({entity: [commit_id,
            entities.get(entity, 0)] | max}) -%}{%- endfor -%}
    {%- endfor -%}
    {{ return({'entities': entities, 'all': all | max} if entities or all | max else none) }}
{%- endmacro -%}

{#- Refuse a range of a feed that begins before what it has. A feed on top of it may have read one entity
    further than another. -#}
{%- macro check_kept_from(relation, kept_from, span, pulls) -%}
    {%- set limits = [{'first': kept_from['all'], 'from': span['from']}] -%}
    {%- for entity, commit_id in kept_from['entities'].items() -%}
        {%- set mark = span['marks'].get(entity, commit_id) if pulls else span['from'] or commit_id -%}
        {%- do limits.append({'first': commit_id, 'from': mark | int}) -%}
    {%- endfor -%}
    {%- for limit in limits if limit['from'] < limit['first'] -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.change_feed: changes of ' ~ relation.identifier ~ ' are kept from commit '
                ~ limit['first'] ~ ', and from='
            ~ (limit['from'] or 'the beginning') ~ ' lies before it. '
            ~ ('Build the feed again with --full-refresh' if pulls
                else 'The first available from is ' ~ limit['first'])
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The range in which a kept feed is read. One that has several entities gets their commits in another order
    than that of the ids: each is read from and up to a mark of its own (`read`), and `late` and `early` have
    what that changes. `cursor` is where to go on. `asked` has from, to, `pulls` and what the model has pulled
    last, `last` what all have. -#}
{%- macro kept_feed_span(commits, last, source, asked, has_entity) -%}
    {%- set now = tidemark.feed_marks(commits, last, source) -%}
    {%- set pulls, pull = asked['pulls'], asked['pull'] -%}
    {%- set read = tidemark.marks_of_pull(commits, last, pull) if pull else {} -%}
    {%- set from = tidemark.last_mark(read) if pulls else (asked['from'] or 0) | int -%}
    {%- set to = tidemark.last_mark(now) if asked['to'] is none else asked['to'] | int -%}
    {%- set relations = (now.keys() | list + read.keys() | list) | unique | sort -%}
    {%- set is_later = asked['to'] is none and tidemark.is_read_later() -%}
    {%- if relations | length <= 1 -%}{{ return({'from': from, 'to': none if is_later else to,
        'marks': read}) }}{%- endif -%}
    {%- if is_later and from and model['config']['materialized'] == 'view' -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.change_feed: a view of ' ~ source
                ~ ' cannot begin at a commit, as the feed has several entities, and some come late. Leave '
                ~ 'out from'
        ) -%}
    {%- endif -%}
    {%- set ends = {
        'from': {'at': from, 'marks': read, 'before': read} if pulls
            else tidemark.feed_position(commits, source, from),
        'to': {'at': to, 'marks': now, 'before': now} if asked['to'] is none
            else tidemark.feed_position(commits, source, to),
    } -%}
    {%- set span = {'from': ends['from']['at'], 'to': ends['to']['at'], 'read': now, 'marks': read} -%}
    {%- set cursor = last | selectattr('relation', 'equalto', source) | map(attribute='commit_id') | max -%}
    {%- set stragglers = tidemark.feed_stragglers(commits, relations, ends, span, has_entity) -%}
    {{ return(dict(span, cursor=cursor,
        **(dict(stragglers, to=none, early=[]) if is_later else stragglers))) }}
{%- endmacro -%}

{#- The feed that is compiled: whether its table exists, its last commit, and whether it is built anew. -#}
{%- macro own_run(pulls) -%}
    {%- set name = this.schema ~ '.' ~ this.identifier -%}
    {%- set last = ([0]
        + pulls | selectattr('relation', 'equalto', name) | map(attribute='commit_id') | list) | max -%}
    {%- set exists = tidemark.relation_exists(this) -%}
    {{ return({'exists': exists, 'last': last | int,
        'anew': should_full_refresh() or not exists or tidemark.is_unfinished(this, last)}) }}
{%- endmacro -%}

{#- The last pull of a source by the model that is compiled; none where that is built anew. -#}
{%- macro own_pull(pulls, own, source) -%}
    {%- set those = pulls | selectattr('relation', 'equalto',
        this.schema ~ '.' ~ this.identifier) | selectattr('source_relation', 'equalto', source) | list -%}
    {{ return(those[0] if those and not own['anew'] else none) }}
{%- endmacro -%}

{#- Whether what is compiled is run later, each time that it is read. An inline query, which has the settings
    of a view, is run at once. -#}
{%- macro is_read_later() -%}
    {{ return(model is defined and model.get('resource_type') != 'sql_operation'
        and (model.get('config') or {}).get('materialized') in ['view', 'ephemeral']) }}
{%- endmacro -%}

{#- How far several entities can be read as one unit, by relation. -#}
{%- macro unit_ends(names) -%}
    {%- set commits = tidemark.commits_relations(tidemark.run_config()) -%}
    {%- set rows = tidemark.query_rows(tidemark.unit_ends_sql(commits['states'], names)) -%}
    {{ return(dict(zip(rows | map(attribute='relation'), rows | map(attribute='last_id')))) }}
{%- endmacro -%}

{#- The range as commit ids. Errors name what there is. A feed that is kept (`pulls`) begins where changes are
    kept from. `ends` has from, to and, where the caller's user has another name for from, `argument`;
    `waits`: `to` is no one's wish but how far several entities can be read, and so nothing is read where it
    lies before `from`, as in a feed that is kept. -#}
{%- macro span_of(cfg, commits, ends, what, pulls=false) -%}
    {%- set argument = ends.get('argument', 'from') -%}
    {%- set moments = {'from': tidemark.moment_of(ends['from'], what ~ ': ' ~ argument),
        'to': tidemark.moment_of(ends.get('to'), what ~ ': to')} -%}
    {%- set span = tidemark.query_rows(tidemark.span_sql(commits['states'], cfg['relation'], moments))[0] -%}
    {%- if not span['config'] -%}
        {%- set nothing = tidemark.span_before_commits(cfg, ends['from'], ends.get('to')) -%}
        {%- if nothing -%}{{ return(nothing) }}{%- endif -%}
        {%- do tidemark.raise_error('data',
            what ~ ': ' ~ cfg['entity'] ~ ' has no commits yet. Run the model first') -%}
    {%- endif -%}
    {%- for name, moment in moments.items() if moment -%}
        {%- do tidemark.check_moment(cfg, commits, span,
            dict(moment, end=name, argument=argument if name == 'from' else name), what) -%}
    {%- endfor -%}
    {#- Without `from` a log that was begun anew is read from its beginning; but not one that was cleaned. -#}
    {%- set cleaned_to = span['floor_id'] if span['floor_id'] > span['log_start_id'] else 0 -%}
    {%- set first = cleaned_to if pulls else 0 -%}
    {%- do span.update({'from': span['from_id'] if moments['from'] else first}) -%}
    {#- a repeat after the last commit that wrote the log may be where the range begins -#}
    {%- do span.update({'to': span['to_id'] if moments['to'] else [span['from'], span['last_id']] | max}) -%}
    {%- if pulls or ends.get('waits') -%}
        {%- do span.update({'to': span['from'] if span['to'] < span['log_start_id']
            else [span['from'], span['to']] | max}) -%}
    {%- endif -%}
    {%- if span['from'] > span['to'] -%}
        {%- do tidemark.raise_error('usage',
            what ~ ': from (commit ' ~ span['from'] ~ ') lies after to (commit ' ~ span['to']
                ~ ') in the commits of ' ~ cfg['entity'] ~ '. Give an earlier from'
        ) -%}
    {%- endif -%}
    {%- if span['from'] < (span['floor_id'] if moments['from'] else cleaned_to) -%}
        {%- do tidemark.raise_error('usage',
            what ~ ': changes of ' ~ cfg['entity'] ~ ' are kept from commit ' ~ span['floor_id']
                ~ ' (completed ' ~ span['floor_at']
            ~ '), and ' ~ argument ~ '=' ~ (ends['from'] or 'the beginning') ~ ' lies before it. '
            ~ ('Build the feed again with --full-refresh' if pulls
                else 'The first available ' ~ argument ~ ' is ' ~ span['floor_id'])
        ) -%}
    {%- elif moments['to'] and span['to'] < span['log_start_id'] and not (pulls or ends.get('waits')) -%}
        {%- do tidemark.raise_error('usage',
            what ~ ': the log of ' ~ cfg['entity'] ~ ' was started again in commit ' ~ span['log_start_id']
                ~ ', and to=' ~ ends['to']
            ~ ' lies before it. Give a later to. Until they are cleaned, the tables named '
                ~ cfg['target'].identifier ~ '__log_<commit> have the earlier rows'
        ) -%}
    {%- endif -%}
    {%- do span.update({'correction_count': run_query(tidemark.count_corrections_sql(commits['states'],
        cfg['relation'], span))[0][0]}) -%}
    {{ return(span) }}
{%- endmacro -%}

{#- Whether a moment, which is an end of a range, is one of the entity's, and lies behind. -#}
{%- macro check_moment(cfg, commits, span, moment, what) -%}
    {%- set end, shown = moment['end'], what ~ ': ' ~ moment['argument'] -%}
    {%- if moment['kind'] == 'timestamp' and span[end ~ '_is_future'] is none -%}
        {%- do tidemark.raise_error('usage',
            shown ~ ' is not a timestamp: ' ~ moment['value'] ~ '. Write it such as 2026-03-04 09:30:00') -%}
    {%- elif moment['kind'] == 'timestamp'
        and (span[end ~ '_is_future'] or (span['inflight_at'] is not none and span[end ~ '_is_open'])) -%}
        {%- do tidemark.raise_error('usage',
            shown ~ '=' ~ moment['value'] ~ (' lies in the future' if span[end ~ '_is_future'] else
                ' is not closed yet: commit ' ~ span['inflight_id'] ~ ' of ' ~ cfg['entity'] ~ ', begun '
                    ~ span['inflight_at'] ~ ', is in flight')
            ~ '. Give an earlier moment. The last completed commit is ' ~ span['last_id']
                ~ (', where a range without `to` ends' if end == 'to' else '')
        ) -%}
    {%- elif moment['kind'] != 'timestamp' and span[end ~ '_id'] is none -%}
        {%- set known = [] -%}
        {%- for row in run_query(tidemark.nearby_commits_sql(commits['states'], cfg['relation'], moment)) -%}
            {%- do known.append((row[0] | string) ~ (' (' ~ row[1] ~ ')' if row[1] else '')) -%}
        {%- endfor -%}
        {%- do tidemark.raise_error('usage',
            what ~ ': ' ~ cfg['entity']
                ~ (' has no completed commit ' if moment['kind'] == 'commit'
                else ' has not loaded business date ') ~ moment['value']
            ~ '. Give one of ' ~ known | join(', ')
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The images to show: those asked for, else those of the YAML. -#}
{%- macro checked_images(cfg, images, what) -%}
    {%- set named = [images] if images is string else images -%}
    {%- set wanted = cfg['feed_images'] if images is none else named | list -%}
    {%- for image in wanted if image not in ['pre', 'post', 'change'] -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ what ~ ": images must be pre, post or change, found: '" ~ image ~ "'") -%}
    {%- endfor -%}
    {{ return(wanted) }}
{%- endmacro -%}

{#- The node of the model that a relation is of, or none. -#}
{%- macro node_of(relation, kinds=['cdc']) -%}
    {%- for node in tidemark.models_of(kinds)
        if node['alias'] | lower == relation.identifier | lower
            and node['schema'] | lower == relation.schema | lower -%}
        {{ return(node) }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The nodes of the models that have one of these materializations. -#}
{%- macro models_of(kinds) -%}
    {{ return(graph.nodes.values() | selectattr('resource_type', 'equalto',
        'model') | selectattr('config.materialized', 'in', kinds) | list) }}
{%- endmacro -%}

{#- The commit of an entity that a moment stands for, which is the argument `argument` of `what`. -#}
{%- macro commit_at(relation, moment, what, argument) -%}
    {%- set node = tidemark.node_of(relation) -%}
    {%- if node is none -%}
        {%- do tidemark.raise_error('usage',
            what ~ ': ' ~ relation ~ ' is not a cdc model of this project. Give the ref of such a model') -%}
    {%- endif -%}
    {%- set commits = tidemark.commits_relations(tidemark.run_config()) -%}
    {{ return(tidemark.span_of(tidemark.entity_config(node), commits, {'from': moment, 'argument': argument},
        what)['from']) }}
{%- endmacro -%}
