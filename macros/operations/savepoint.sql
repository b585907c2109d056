{#- Keep a commit from clean(), by default the last one: a commit of kind `savepoint` records it, one with
    `removed` takes it away. -#}
{%- macro savepoint(entity, commit=none, name=none, remove=false, dry_run=false) -%}
    {{ return(tidemark.operation('savepoint.savepoint', entity, commit, name, remove, dry_run)) }}
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
                'entity': row['entity'], 'commit': row['commit_id'] | string, 'name': row['name'],
                'kind': row['kind'],
                'business date': row['business_date'], 'completed': row['completed_at'],
                'kept since': row['made_at'],
            }) -%}
        {%- endfor -%}
        {%- for line in tidemark.table_lines(table, []) -%}{%- do log(line, info=true) -%}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
