{#- The files at a location, with `path` and `size`; none where there is nothing. By plain Spark a script asks
    for them: a query of what is not there fails, and nothing in a macro catches that. -#}
{%- macro files_at(location) -%}
    {%- if tidemark.can('list_files') -%}{{ return(adapter.list_files(location)) }}{%- endif -%}
    {%- set sql -%}
begin
    {#- PATH_NOT_FOUND #}
    declare exit handler for sqlstate '42K03'
    begin
        select '' as path, 0 as size where false;
    end;
    select _metadata.file_path as path, _metadata.file_size as size
        from binaryfile.{{ tidemark.quote_identifier(location) }};
end
    {%- endset -%}
    {{ return(tidemark.query_rows(sql)) }}
{%- endmacro -%}
