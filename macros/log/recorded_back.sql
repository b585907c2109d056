{#- What an entity is held to once a rollback has taken it back to where a commit recorded `then`, of what its last commit recorded (`now`).
    Of change events what is known of the source is as it was then, as what was undone is read again, and statements of it are judged anew;
    so are the names of columns, but for those that the YAML names (`named`, lower case), and the rule of ties that its rows are in order by.
    Whatever came since stays in the log. -#}
{%- macro recorded_back(now, then, named) -%}
    {%- if now['extract'] != 'events' or not then or not then.get('source') -%}{{ return(now) }}{%- endif -%}
    {{ return(dict(
        now, columns=tidemark.columns_back(now['columns'], then['columns'], named),
        source=tidemark.source_back(now.get('source') or {}, then['source']), on_tie=then.get('on_tie', 'content')
    )) }}
{%- endmacro -%}

{#- What was known of a source. The table keeps the names that it has got, by which the YAML may know it by now; its events are those of the
    names that it had. What events are known by does not change. -#}
{%- macro source_back(now, then) -%}
    {%- set tables = then.get('tables') or [] -%}
    {%- set known = (tables + (now.get('tables') or [])) | unique | list if tables else [] -%}
    {{ return(dict(
        then, tables=known, followed=then.get('followed') or (tables if known != tables else []),
        by_content=then.get('by_content', now.get('by_content', false)), identifying=then.get('identifying', now.get('identifying'))
    )) }}
{%- endmacro -%}

{#- The columns `now` with the names that they had `then`, by what hashes know them as, in the order of `now`. Of one that has come since and
    whose name is taken by that, the values are kept as those of a dropped one. -#}
{%- macro columns_back(now, then, named) -%}
    {%- set before, taken, names = {}, [], {} -%}
    {%- for column in then -%}{%- do before.update({tidemark._hashed_as(column): column}) -%}{%- endfor -%}
    {%- for column in now if column['name'] | lower in named or (before.get(tidemark._hashed_as(column)) or {}).get('name', '') | lower == column['name'] | lower -%}
        {%- do names.update({tidemark._hashed_as(column): column['name']}) -%}
        {%- do taken.append(column['name'] | lower) -%}
    {%- endfor -%}
    {%- for column in now if tidemark._hashed_as(column) in before and tidemark._hashed_as(column) not in names -%}
        {%- set name = before[tidemark._hashed_as(column)]['name'] -%}
        {%- if name | lower not in taken -%}
            {%- do names.update({tidemark._hashed_as(column): name}) -%}
            {%- do taken.append(name | lower) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set back = [] -%}
    {%- for column in now -%}
        {%- set hashed = tidemark._hashed_as(column) -%}
        {%- if hashed in names and hashed in before -%}
            {%- do back.append(dict(column, name=names[hashed], gone=before[hashed].get('gone', false))) -%}
        {%- elif hashed in names or column['name'] | lower not in taken -%}
            {%- do back.append(column) -%}
        {%- else -%}
            {%- do back.append(dict(column, name=tidemark.free_name(column['name'], taken + now | map(attribute='name') | map('lower') | list), gone=true)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(back) }}
{%- endmacro -%}

{%- macro _hashed_as(column) -%}
    {{ return((column.get('hash_name') or column['name']) | lower) }}
{%- endmacro -%}

{#- The name under which the values of a column are kept whose own another one takes; `taken` are names in lower case. -#}
{%- macro free_name(name, taken) -%}
    {%- for number in range(1, taken | length + 2) -%}
        {%- set free = name ~ '__dropped' ~ ('_' ~ number if number > 1 else '') -%}
        {%- if free | lower not in taken -%}{{ return(free) }}{%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The columns `now`, in their order, that are called otherwise in `back`: [old, new], each once its new name is free. -#}
{%- macro renames_back(entity, now, back) -%}
    {%- set left, ordered = [], [] -%}
    {%- for column in now -%}
        {%- set name = back[loop.index0]['name'] -%}
        {%- if name | lower != column['name'] | lower -%}{%- do left.append([column['name'], name]) -%}{%- endif -%}
    {%- endfor -%}
    {%- for _ in range(left | length) -%}
        {%- for pair in left if pair not in ordered -%}
            {%- set others = left | reject('in', ordered) | map('first') | map('lower') | list -%}
            {%- if pair[1] | lower not in others -%}{%- do ordered.append(pair) -%}{%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if ordered | length < left | length -%}
        {%- do tidemark.raise_error('usage',
            entity ~ ': columns have exchanged their names since (' ~ left | map('join', ' → ') | join(', ')
            ~ '), and there is no way back behind that. To begin again from nothing, load with --full-refresh'
        ) -%}
    {%- endif -%}
    {{ return(ordered) }}
{%- endmacro -%}

{#- Whether columns are in current by one of two records, and are not by the other. -#}
{%- macro columns_return(now, back) -%}
    {%- for column in now -%}
        {%- if column.get('gone', false) != back[loop.index0].get('gone', false) -%}{{ return(true) }}{%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}
