{#- Give an entity's log the hashes of its present configuration, without a new version of any row. New tables
    are filled beside the old ones and take their names when they are whole; the old ones stay as
    `<table>_<commit>` until they are cleaned. An interrupted rehash is finished or rolled back by the
    entity's next run. -#}
{%- macro rehash(entity, drop=[], dry_run=false) -%}{{ return(tidemark.operation('rehash.rehash', entity,
    drop, dry_run)) }}{%- endmacro -%}

{#- The last commit that gave an entity's log other hashes; 0 if none did. -#}
{%- macro rehashed_at(relation) -%}
    {%- if not execute -%}{{ return(0) }}{%- endif -%}
    {%- set states = tidemark.commits_relations(tidemark.run_config())['states'] -%}
    {%- if not tidemark.relation_exists(states) -%}{{ return(0) }}{%- endif -%}
    {%- set found = run_query('select coalesce(max(commit_id), 0) from ' ~ states
        ~ " where kind = 'rehash' and state = 'completed' and relation = "
        ~ tidemark.string_literal(relation.schema ~ '.' ~ relation.identifier)) -%}
    {{ return(found[0][0] | int) }}
{%- endmacro -%}

{#- Columns of the history that current has no more, as the source has dropped them: since then they count for
    no hash. -#}
{%- macro columns_gone(relation) -%}
    {%- if not execute -%}{{ return([]) }}{%- endif -%}
    {#- under --empty a relation is a query -#}
    {%- set current = api.Relation.create(database=relation.database, schema=relation.schema,
        identifier=relation.identifier) -%}
    {%- set stays = adapter.get_columns_in_relation(current) | map(attribute='name') | map('lower') | list
        + tidemark.reserved_columns() -%}
    {%- set gone = [] -%}
    {%- for column in adapter.get_columns_in_relation(tidemark.side_relation(current, 'history'))
        if column.name | lower not in stays -%}
        {%- do gone.append(column.name) -%}
    {%- endfor -%}
    {{ return(gone) }}
{%- endmacro -%}
