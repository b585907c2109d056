{#- How far feeds have read, as of a moment (microseconds) or a run before it; none: as of now. -#}
{%- macro last_pulls(commits, micros=none, before=false) -%}
    {%- set condition = 'started_at ' ~ ('<' if before else '<=') ~ ' timestamp_micros(' ~ micros ~ ')'
        if micros is not none -%}
    {{ return(tidemark.query_rows(tidemark.last_pulls_sql(commits['states'], condition))) }}
{%- endmacro -%}

{#- The last commit of each entity that a feed has, by relation, also where it reads them through other feeds;
    `pulls` are the last ones of all feeds. For an entity that comes by two ways: how far both have come. -#}
{%- macro feed_marks(commits, pulls, relation) -%}
    {%- set marks = {} -%}
    {%- for pull in pulls if pull['relation'] == relation -%}
        {%- for entity, mark in tidemark.marks_of_pull(commits, pulls, pull).items() -%}
            {%- do marks.update({entity: [mark, marks.get(entity, mark)] | min}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(marks) }}
{%- endmacro -%}

{#- What a feed has read of one source: a commit of the entity that it is, or of each of those that it has if
    it is a feed. Pulls of before these were recorded had what the source had then. -#}
{%- macro marks_of_pull(commits, pulls, pull) -%}
    {%- set read = fromjson(pull['details'] or '{}').get('read') -%}
    {%- if read -%}{{ return(read) }}{%- endif -%}
    {%- if pull['source_relation'] not in pulls | map(attribute='relation') -%}
        {{ return({pull['source_relation']: pull['source_commit_id'] | int}) }}
    {%- endif -%}
    {%- set now = tidemark.feed_marks(commits, pulls, pull['source_relation']) -%}
    {%- if now | length == 1 -%}
        {{ return({(now.keys() | first): pull['source_commit_id'] | int}) }}
    {%- endif -%}
    {{ return(tidemark.feed_marks(commits, tidemark.last_pulls(commits, pull['run_micros']),
        pull['source_relation'])) }}
{%- endmacro -%}

{#- The greatest of some marks: where there is one entity, or none came late, all that is not after it has
    been read. -#}
{%- macro last_mark(marks) -%}
    {{ return(([0] + marks.values() | map('int') | list) | max) }}
{%- endmacro -%}

{#- An end of a range of a kept feed, as feed_stragglers_sql() has it, for each entity: where a commit stands
    in the order in which the feed got them, that of its runs and in a run that of ids. -#}
{%- macro feed_position(commits, source, commit_id) -%}
    {%- if commit_id == 0 -%}{{ return({'at': 0, 'marks': none, 'before': none}) }}{%- endif -%}
    {%- set owners = tidemark.first_column('select distinct relation from ' ~ commits['states']
        ~ ' where commit_id = ' ~ commit_id) -%}
    {%- set found = tidemark.query_rows(tidemark.run_of_commit_sql(commits['states'], source, commit_id,
        owners or ['']))[0] -%}
    {%- set is_own = found['own_micros'] is not none -%}
    {%- set micros = found['own_micros'] if is_own else found['brought_micros'] -%}
    {%- if micros is none -%}{{ return({'at': commit_id, 'marks': none, 'before': none}) }}{%- endif -%}
    {%- set marks = tidemark.feed_marks(commits, tidemark.last_pulls(commits, micros), source) -%}
    {%- if is_own -%}
        {{ return({'at': tidemark.last_mark(marks), 'marks': marks, 'before': marks}) }}
    {%- endif -%}
    {{ return({'at': commit_id, 'marks': marks,
        'before': tidemark.feed_marks(commits, tidemark.last_pulls(commits, micros, before=true), source)}) }}
{%- endmacro -%}

{#- The commits that make the difference between a range of ids and one of a feed with several entities;
    `ends` has from and to, each as feed_position() returns it. -#}
{%- macro feed_stragglers(commits, relations, ends, span, has_entity) -%}
    {%- set entities, late, early = [], [], [] -%}
    {%- for relation in relations -%}
        {%- set entity = {'relation': relation} -%}
        {%- for name, end in ends.items() if end is not none -%}
            {%- set none_known = end['marks'] is none -%}
            {%- do entity.update({name: {
                'mark': end['at'] if none_known else end['marks'].get(relation, 0) | int,
                'before': end['at'] if none_known else end['before'].get(relation, 0) | int,
                'at': end['at'],
            }}) -%}
        {%- endfor -%}
        {%- do entities.append(entity) -%}
    {%- endfor -%}
    {%- for row in tidemark.query_rows(tidemark.feed_stragglers_sql(commits['states'], entities, span)) -%}
        {%- do (late if row['is_wanted'] else early).append({
            'commit_id': row['commit_id'] | int,
            'entity': tidemark.name_in_unit(row['relation'], relations) if row['is_shared'] and has_entity
                else none,
        }) -%}
    {%- endfor -%}
    {{ return({'late': late, 'early': early}) }}
{%- endmacro -%}
