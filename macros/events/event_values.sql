{#- The text of a column in an image, by its name or, where that is not there, by a name that it had before.
    -#}
{%- macro _image_text_expr(image, column) -%}
    {%- set terms = [] -%}
    {%- for source in column['sources'] -%}{%- do terms.append(image ~ '[' ~ tidemark.string_literal(source)
        ~ ']') -%}{%- endfor -%}
    {{ return('coalesce(' ~ terms | join(', ') ~ ')' if terms | length > 1 else terms[0]) }}
{%- endmacro -%}

{#- Whether an expression reads a column. -#}
{%- macro _reads_column(expression, name) -%}
    {{ return(modules.re.search('(?i)(?<![\\w])' ~ modules.re.escape(name) ~ '(?![\\w])',
        expression) is not none) }}
{%- endmacro -%}

{#- Whether a delete of PostgreSQL has a value that Debezium has made up. A time that is the epoch is none of
    a row, whatever the image tells beside it: without an inline schema nobody knows the defaults of other
    columns. -#}
{%- macro _is_made_up_expr(roles, column) -%}
    {%- if roles.get('decoded') -%}{{ return(tidemark.quote_identifier('_tidemark_made_up_'
        ~ column['name'])) }}{%- endif -%}
    {%- if column['type'] != 'date' and not column['type'].startswith('timestamp') -%}
        {{ return('_is_key_image') }}
    {%- endif -%}
    {{ return('(_is_key_image or _is_key_image is not null and '
        ~ tidemark.quote_identifier('_tidemark_text_' ~ column['name'])
        ~ " rlike '^(0|1970-01-01([T ]00:00:00[.0]*)?Z?)$')") }}
{%- endmacro -%}

{#- The typed value of a text; where schemas of the batch encode a column differently, by the event's schema.
    -#}
{%- macro _decoded_expr(column, prefix) -%}
    {%- set text = tidemark.quote_identifier(prefix ~ column['name']) -%}
    {%- set by_schema = column['encodings'] -%}
    {%- if not tidemark._is_read_by_schema(column) -%}
        {{ return(tidemark.decode_expr(text, by_schema.values() | first | default('auto'), column['type'])) }}
    {%- endif -%}
    {%- set branches = [] -%}
    {%- for schema_id, encoding in by_schema.items() -%}
        {%- do branches.append('when _schema_id '
            ~ ('= ' ~ tidemark.string_literal(schema_id) if schema_id else 'is null') ~ ' then '
            ~ tidemark.decode_expr(text, encoding, column['type'])) -%}
    {%- endfor -%}
    {{ return('case ' ~ branches | join('\n') ~ ' end') }}
{%- endmacro -%}

{#- Whether schemas of the batch encode a column differently. -#}
{%- macro _is_read_by_schema(column) -%}
    {{ return(column['encodings'].values() | unique | list | length > 1) }}
{%- endmacro -%}

{%- macro _reads_by_schema(roles) -%}
    {%- for column in roles['source_columns'] if not roles['typed']
        and tidemark._is_read_by_schema(column) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{%- macro _typed_value_expr(roles, column) -%}
    {%- if column.get('stays') -%}{{ return('cast(null as ' ~ column['type'] ~ ')') }}{%- endif -%}
    {%- if not roles['typed'] -%}{{ return(tidemark.quote_identifier(column['name'])) }}{%- endif -%}
    {%- if not column['arrived'] -%}{{ return('cast(null as ' ~ column['type'] ~ ')') }}{%- endif -%}
    {{ return(tidemark.quote_identifier(
        column['source_name'] if column['source_type'] == column['type']
            else '_tidemark_value_' ~ column['name']
    )) }}
{%- endmacro -%}

{#- A value of the image before. A column of the key that it leaves out has not changed, so that it is what
    the image after has; NULL says the same where no key may be NULL. -#}
{%- macro _before_value_expr(roles, column) -%}
    {%- set name = tidemark.quote_identifier('_before_' ~ column['name']) -%}
    {%- set value = tidemark._typed_value_expr(roles, column) -%}
    {%- set is_shared = roles['keyed'] and (roles['keys'] | length > 1 or not column['not_null']) -%}
    {%- if not roles['typed'] -%}
        {%- if not is_shared -%}{{ return(name) }}{%- endif -%}
        {%- if column['not_null'] -%}{{ return('coalesce(' ~ name ~ ', ' ~ value ~ ')') }}{%- endif -%}
        {%- if roles.get('decoded') -%}
            {{ return('if(_has_before, ' ~ name ~ ', ' ~ value ~ ')') }}
        {%- endif -%}
        {%- set given = [] -%}
        {%- for source in column['sources'] -%}
            {%- do given.append('map_contains_key(_before, ' ~ tidemark.string_literal(source) ~ ')') -%}
        {%- endfor -%}
        {{ return('if(' ~ given | join(' or ') ~ ', ' ~ name ~ ', ' ~ value ~ ')') }}
    {%- endif -%}
    {%- if column['before_arrived'] and tidemark._nested_kind(column['type']) -%}
        {{ return(tidemark.cast_by_name_expr(name, column['before_type'], column['type'])['value']) }}
    {%- endif -%}
    {%- set before = 'cast(' ~ (name if column['before_arrived'] else 'null') ~ ' as ' ~ column['type']
        ~ ')' -%}
    {%- if not is_shared or not roles['keys'] | selectattr('before_arrived') | list -%}
        {{ return(before) }}
    {%- endif -%}
    {%- if not column['before_arrived'] -%}{{ return(value) }}{%- endif -%}
    {{ return('coalesce(' ~ before ~ ', ' ~ value ~ ')' if column['not_null'] else before) }}
{%- endmacro -%}

{#- True where an upsert says nothing about a column. -#}
{%- macro _unsupplied_expr(cfg, roles, column) -%}
    {%- if column.get('stays') -%}{{ return('true') }}{%- endif -%}
    {%- set terms = [] -%}
    {%- if roles.get('decoded') -%}
        {%- do terms.append(tidemark.quote_identifier('_tidemark_lacks_' ~ column['name'])) -%}
    {%- elif not roles['typed'] -%}
        {%- set missing = [] -%}
        {%- for source in column['sources'] -%}
            {%- do missing.append('not map_contains_key(_image, ' ~ tidemark.string_literal(source) ~ ')') -%}
        {%- endfor -%}
        {%- do terms.append('coalesce(' ~ missing | join(' and ') ~ ', true)') -%}
        {%- do terms.append('(' ~ tidemark._is_unavailable_expr(column) ~ ')') -%}
    {%- elif not column['arrived'] -%}
        {%- do terms.append('true') -%}
    {%- endif -%}
    {%- if tidemark.is_chosen(cfg['ignore_null_updates'], column['name']) -%}
        {%- do terms.append(tidemark._typed_value_expr(roles, column) ~ ' is null') -%}
    {%- endif -%}
    {{ return(terms | join(' or ') if terms else 'false') }}
{%- endmacro -%}

{#- The fields, as lists of names, whose NULL in an update leaves them as they are: of structs that
    `ignore_null_updates` chooses. -#}
{%- macro partial_paths(cfg, roles, column) -%}
    {%- if not roles['keyed'] or column['key']
        or not tidemark.is_chosen(cfg['ignore_null_updates'], column['name']) -%}{{ return([]) }}{%- endif -%}
    {{ return(tidemark._field_paths([column['name']], column['type'])) }}
{%- endmacro -%}

{%- macro _field_paths(path, type) -%}
    {%- set paths = [] -%}
    {%- if tidemark._nested_kind(type) == 'struct' -%}
        {%- for field in tidemark._struct_fields(type[type.index('<') + 1:-1]) -%}
            {%- set inner = path + [field['name']] -%}
            {%- do paths.append(inner) -%}
            {%- do paths.extend(tidemark._field_paths(inner, field['type'])) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(paths) }}
{%- endmacro -%}

{#- A field that is NULL in a struct that is not. -#}
{%- macro _missing_field_expr(column, path) -%}
    {%- set names = path[1:] | map('replace', '`', '``') | list -%}
    {%- set holder = column ~ ('.`' ~ names[:-1] | join('`.`') ~ '`' if names | length > 1 else '') -%}
    {{ return(holder ~ ' is not null and ' ~ holder ~ '.`' ~ names[-1] ~ '` is null') }}
{%- endmacro -%}

{#- For an insert that may be half of a change of the key: the first column whose value the database did not
    log. -#}
{%- macro _unavailable_column_expr(roles) -%}
    {%- set branches = [] -%}
    {%- for column in roles['columns']
        if not column['key'] and not column.get('stays') and not roles.get('decoded') -%}
        {%- do branches.append('when _may_be_move and ' ~ tidemark._is_unavailable_expr(column) ~ ' then '
            ~ tidemark.string_literal(column['name'])) -%}
    {%- endfor -%}
    {{ return('case\n    ' ~ branches | join('\n    ') ~ '\nend' if branches else 'cast(null as string)') }}
{%- endmacro -%}

{%- macro _is_unavailable_expr(column) -%}
    {{ return(
        tidemark.quote_identifier('_tidemark_text_' ~ column['name']) ~ ' is not null and '
        ~ tidemark.quote_identifier('_tidemark_given_' ~ column['name']) ~ ' is null'
    ) }}
{%- endmacro -%}

{#- True where the image before names a row. One that a column of the key is never NULL in has a value there;
    where all of them may be NULL, a line says it by their names. -#}
{%- macro _has_before_key_expr(cfg, roles) -%}
    {%- set terms = [] -%}
    {%- if cfg['format'] != 'debezium' and not roles['typed']
        and not roles['keys'] | selectattr('not_null') | list -%}
        {%- do terms.append('_image_before is not null') -%}
    {%- endif -%}
    {%- for column in roles['keys'] -%}
        {%- do terms.append('_image_before.' ~ tidemark.quote_identifier(column['name']) ~ ' is not null') -%}
    {%- endfor -%}
    {{ return("_reject_reason is null and _tidemark_effect = 'upsert' and (" ~ terms | join(' or ') ~ ')') }}
{%- endmacro -%}
