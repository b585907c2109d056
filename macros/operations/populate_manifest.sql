{#- Claim the events that are stored already, day by day: a call that died goes on after the last day that it finished, and what is claimed is not
    claimed twice. `from` is another table with the canonical columns, such as a shredder filled. -#}
{%- macro populate_manifest(entity, since=none, from=none) -%}
    {%- set opened = tidemark.open_atomic(tidemark.entity_node(entity, ['atomic'])) -%}
    {%- set cfg, commits, relations = opened['cfg'], opened['commits'], opened['relations'] -%}
    {%- set first_day = tidemark._business_date(since, 'populate_manifest: since') -%}
    {%- set source = tidemark.relation_named(from) if from else relations['current'] -%}
    {%- if not tidemark.relation_exists(source) -%}
        {%- do tidemark.raise_error('data', entity ~ ': there is no table ' ~ source ~ ' to take events from') -%}
    {%- endif -%}
    {%- set columns = tidemark.describe_query('select * from ' ~ source) -%}
    {%- do tidemark.check_canonical(entity, source, columns) -%}
    {%- do tidemark.run_statements(
        ['create schema if not exists ' ~ relations['manifest'].include(identifier=false)]
        + tidemark.for_format(cfg['file_format'], 'create_table')(relations['manifest'], tidemark.manifest_columns(), {})
    ) -%}
    {%- set details = {'from': source | string, 'since': first_day} -%}
    {%- set left = tidemark.unfinished_population(opened, details) -%}
    {%- set record = left or tidemark.operation_commit(opened, 'populate_manifest') -%}
    {%- set done_to = left['done_to'] if left else none -%}
    {%- do record.update({'details': tojson(details)}) -%}
    {%- if left -%}
        {%- do tidemark.say(entity, 'goes on after ' ~ (done_to or 'the beginning') ~ ', where an earlier call stopped') -%}
    {%- else -%}
        {%- do tidemark.record_commit(commits, record, 'inflight', {}) -%}
    {%- endif -%}
    {%- set claimed = namespace(count=0, before=tidemark.claims_of(relations, record) if left else 0) -%}
    {%- set stored = {'relation': source, 'names': columns | map(attribute='name') | list} -%}
    {%- for row in run_query(tidemark.population_days_sql(stored, done_to, first_day)) -%}
        {%- set counts = run_query(tidemark.populate_manifest_sql(cfg, relations['manifest'], stored, row[0] | string, record['commit_id'])) -%}
        {#- What a MERGE wrote, Iceberg does not tell. -#}
        {%- set number = counts[0][0] | int if counts | length else tidemark.claims_of(relations, record) - claimed.before - claimed.count -%}
        {%- set claimed.count = claimed.count + number -%}
        {%- do tidemark.say(entity, row[0] ~ ': ' ~ number ~ ' of ' ~ row[1] ~ ' events claimed') -%}
        {%- do details.update({'done_to': row[0] | string}) -%}
        {%- do record.update({'details': tojson(details)}) -%}
        {%- do tidemark.record_commit(commits, record, 'inflight', {}) -%}
    {%- endfor -%}
    {%- if not from and opened['state']['recorded'] -%}
        {#- By which runs know that what was stored without a claim has one now. -#}
        {%- do record.update({'config': dict(opened['state']['recorded'], manifest=relations['manifest'] | string)}) -%}
    {%- endif -%}
    {%- do tidemark.record_commit(commits, record, 'completed', {'rows_inserted': claimed.count}) -%}
    {%- do tidemark.say(entity, 'claimed ' ~ claimed.count ~ ' events of ' ~ source ~ ' in ' ~ relations['manifest']) -%}
{%- endmacro -%}

{#- How many claims a commit has made so far. -#}
{%- macro claims_of(relations, commit) -%}
    {{ return(tidemark.row_count(relations['manifest'], '_commit_id = ' ~ commit['commit_id'])) }}
{%- endmacro -%}

{#- A call with the same arguments that died, as a commit that goes on, with the last day that it finished. -#}
{%- macro unfinished_population(opened, details) -%}
    {%- for row in tidemark.query_rows(tidemark.inflight_operations_sql(opened['commits']['states'], opened['cfg']['relation'], 'populate_manifest')) -%}
        {%- set told = fromjson(row['details'] or '{}') -%}
        {%- if told.get('from') == details['from'] and told.get('since') == details['since'] -%}
            {%- set record = tidemark.operation_commit(opened, 'populate_manifest') -%}
            {%- do record.update({
                'commit_id': row['commit_id'] | int, 'started_at': tidemark.utc_text_of_micros(row['started_micros']),
                'state_at': tidemark.utc_text_of_micros(row['state_micros']), 'done_to': told.get('done_to'),
            }) -%}
            {{ return(record) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- A table of events has at least what a claim is made of. -#}
{%- macro check_canonical(entity, source, columns) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- for name in ['event_id', 'collector_tstamp'] if name not in names -%}
        {%- do tidemark.raise_error('data', entity ~ ': ' ~ source ~ ' has no column `' ~ name ~ '`: it must have the canonical columns of enriched events') -%}
    {%- endfor -%}
{%- endmacro -%}
