{#- Keep a commit from clean(), by default the last one: a commit of kind `savepoint` records it, one with `removed` takes it away. -#}
{%- macro savepoint(entity, commit=none, name=none, remove=false, dry_run=false) -%}
    {%- set opened = tidemark.open_entity(entity, 'keep', tidemark.is_true(dry_run)) -%}
    {%- set cfg, states = opened['cfg'], opened['commits']['states'] -%}
    {%- set remove = tidemark.is_true(remove) -%}
    {%- set kept = tidemark.query_rows(tidemark.savepoints_sql(states, cfg['relation'])) -%}
    {%- set named = kept | selectattr('name', 'equalto', name | string) | map(attribute='commit_id') | list if remove and name is not none else [] -%}
    {%- if commit is none and named | length > 1 -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ': there are savepoints named ' ~ name ~ ' on several commits: say by commit which one to remove, ' ~ named | sort | join(' or ')
        ) -%}
    {%- endif -%}
    {%- set wanted = commit or named | first | default(none) -%}
    {%- if remove -%}
        {%- do tidemark.check_savepoint_is_there(cfg, wanted, name, kept) -%}
        {%- set source = wanted | int -%}
    {%- else -%}
        {%- set source = tidemark.commit_to_keep(cfg, states, wanted) -%}
    {%- endif -%}
    {%- set shown = source ~ (' (' ~ name ~ ')' if name is not none else '') -%}
    {%- if tidemark.is_true(dry_run) -%}
        {%- do tidemark.say(entity, ('would remove the savepoint on commit ' if remove else 'would keep commit ') ~ shown) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set record = tidemark.operation_commit(opened, 'savepoint') -%}
    {%- do record.update({
        'source_commit_id': source,
        'details': tojson({'removed': true} if remove else {'name': name | string if name is not none else none}),
    }) -%}
    {%- do tidemark.record_commit(opened['commits'], record, 'completed', {}) -%}
    {%- if not remove -%}{%- do tidemark.check_is_kept(opened, record) -%}{%- endif -%}
    {%- do tidemark.say(entity, ('removed the savepoint on commit ' if remove else 'clean keeps commit ') ~ shown) -%}
{%- endmacro -%}

{#- Print the savepoints of an entity, or of all. -#}
{%- macro show_savepoints(entity=none, format='text') -%}
    {%- do tidemark.check_shown_format(format) -%}
    {%- set commits = tidemark.ensure_commits(tidemark.run_config()) -%}
    {%- set relation = none if entity is none else tidemark.committed_relation(entity, commits) -%}
    {%- set rows = tidemark.query_rows(tidemark.listed_savepoints_sql(commits['states'], relation)) -%}
    {%- if format == 'json' -%}
        {%- do log('tidemark savepoints ' ~ tojson({'entity': entity, 'rows': rows}), info=true) -%}
    {%- elif not rows -%}
        {%- do log((entity ~ ' has' if entity else 'there are') ~ ' no savepoints', info=true) -%}
    {%- else -%}
        {%- set table = [] -%}
        {%- for row in rows -%}
            {%- do table.append({
                'entity': row['entity'], 'commit': row['commit_id'] | string, 'name': row['name'], 'kind': row['kind'],
                'business date': row['business_date'], 'completed': row['completed_at'], 'kept since': row['made_at'],
            }) -%}
        {%- endfor -%}
        {%- for line in tidemark.table_lines(table, []) -%}{%- do log(line, info=true) -%}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{#- The commit that a savepoint is to keep, the last one if none is given; an error for one that is not there (any more). -#}
{%- macro commit_to_keep(cfg, states, commit) -%}
    {%- set wanted = none if commit is none else commit | string | trim -%}
    {%- if wanted is not none and not modules.re.fullmatch('[0-9]{1,18}', wanted) -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ': commit must be a commit id (commit_id of tidemark_commits) such as 260304093000123, found: ' ~ commit
        ) -%}
    {%- endif -%}
    {%- set found = tidemark.query_rows(tidemark.log_commits_sql(states, cfg['relation'], wanted, 1)) -%}
    {%- if not found -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ': no completed commit ' ~ wanted ~ ' wrote its log. The last ones are '
            ~ tidemark.shown_commits(tidemark.query_rows(tidemark.log_commits_sql(states, cfg['relation'])))
        ) -%}
    {%- endif -%}
    {%- set source = found[0]['commit_id'] | int -%}
    {%- set floor = run_query(tidemark.feed_floor_sql(states, cfg['relation']))[0][0] | int -%}
    {%- if source < floor -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ': commit ' ~ source ~ ' cannot be kept any more: what was known before commit ' ~ floor
            ~ ' was cleaned, or is in a log that a full refresh replaced. Name that commit or a later one'
        ) -%}
    {%- endif -%}
    {{ return(source) }}
{%- endmacro -%}

{#- A clean() that began meanwhile may not have seen the savepoint: then it is taken away again. -#}
{%- macro check_is_kept(opened, record) -%}
    {%- set cfg, commits, source = opened['cfg'], opened['commits'], record['source_commit_id'] -%}
    {%- set floor = run_query(tidemark.feed_floor_sql(commits['states'], cfg['relation']))[0][0] | int -%}
    {%- if source < floor -%}
        {%- do tidemark.record_commit(commits, record, 'rolled_back', {}) -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': commit ' ~ source ~ ' is not kept: what was known before commit ' ~ floor ~ ' is being cleaned. If that call is refused, call this again'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro check_savepoint_is_there(cfg, commit, name, kept) -%}
    {%- set shown = [] -%}
    {%- for row in kept -%}
        {%- if commit is not none and commit | string == row['commit_id'] | string -%}{{ return(none) }}{%- endif -%}
        {%- do shown.append(row['commit_id'] ~ (' (' ~ row['name'] ~ ')' if row['name'] else '')) -%}
    {%- endfor -%}
    {%- set meant = 'named ' ~ name if name is not none else 'without a commit or a name: say which one to remove' -%}
    {%- do tidemark.raise_error('usage',
        cfg['entity'] ~ ': there is no savepoint ' ~ ('on commit ' ~ commit if commit is not none else meant)
        ~ '; those that there are: ' ~ (shown | sort | join(', ') or 'none')
    ) -%}
{%- endmacro -%}

{#- Commits for a message: id and what it loaded. -#}
{%- macro shown_commits(rows) -%}
    {%- set shown = [] -%}
    {%- for row in rows -%}{%- do shown.append(row['commit_id'] ~ ' (' ~ (row['business_date'] or row['kind']) ~ ')') -%}{%- endfor -%}
    {{ return(shown | join(', ')) }}
{%- endmacro -%}

{#- A commit of an operation as it is recorded. It has no configuration: later runs are held to what the last load recorded. -#}
{%- macro operation_commit(opened, kind) -%}
    {{ return({
        'commit_id': tidemark.next_commit_id(opened['state']['last_id']),
        'relation': opened['cfg']['relation'],
        'entity': opened['cfg']['entity'],
        'kind': kind,
        'started_at': tidemark.utc_now(),
        'invocation_id': opened['run']['invocation_id'],
    }) }}
{%- endmacro -%}

{#- Begin an operation: its commit in flight, and those of its kind that a dead call left in flight rolled back, in this order, so that
    readers always find one that holds. -#}
{%- macro begin_operation(opened, record) -%}
    {%- do tidemark.record_commit(opened['commits'], record, 'inflight', {}) -%}
    {%- do tidemark.end_begun(opened, record) -%}
{%- endmacro -%}

{#- Roll back the commits of an operation that dead calls left in flight, but for this one. -#}
{%- macro end_begun(opened, record) -%}
    {%- for row in tidemark.query_rows(tidemark.inflight_operations_sql(opened['commits']['states'], record['relation'], record['kind']))
        if row['commit_id'] | int != record['commit_id'] -%}
        {%- do tidemark.record_commit(opened['commits'], dict(record,
            commit_id=row['commit_id'] | int, started_at=tidemark.utc_text_of_micros(row['started_micros']), details=row['details'],
            source_commit_id=row['source_commit_id'], state_at=tidemark.utc_text_of_micros(row['state_micros'])
        ), 'rolled_back', {}) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Say that a call of an operation which died would be finished. -#}
{%- macro tell_begun(opened, kind) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- for row in tidemark.query_rows(tidemark.inflight_operations_sql(opened['commits']['states'], cfg['relation'], kind)) -%}
        {%- do tidemark.say(cfg['entity'], 'would finish the ' ~ kind ~ ' that a call left in flight, commit ' ~ row['commit_id']) -%}
    {%- endfor -%}
{%- endmacro -%}
