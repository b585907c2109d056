{#- Stop at a line that is longer than a reader has memory for: Spark's JVM would end of it. Of a file a block is read in each stretch of
    `tidemark__max_line_bytes`, and nothing of a smaller one. -#}
{%- macro check_lines(cfg, files) -%}
    {%- set own_ends = cfg.get('options', {}).keys() | map('lower') | select('equalto', 'linesep') | list -%}
    {%- if own_ends or not files or cfg.get('format') == 'parquet' or not tidemark.can('list_files') -%}{{ return(none) }}{%- endif -%}
    {%- set most = tidemark.run_config()['max_line_bytes'] -%}
    {%- set found = adapter.long_line(files, most) -%}
    {%- if found -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ found['path'] ~ ' has a line of more than ' ~ most ~ ' bytes, from byte ' ~ found['at']
            ~ ' on. Deliver the file with an end of line behind each row; if rows are that long, raise the var '
            ~ 'tidemark__max_line_bytes, and spark.driver.memory with it, to twenty times as much'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
