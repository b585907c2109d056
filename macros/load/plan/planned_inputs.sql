{#- Where the files of a load are looked for and all that lie there, for who wants to know later whether they are the same; asked before
    they are read. -#}
{%- macro files_at_location(opened) -%}
    {%- set cfg, date = opened['cfg'], opened['run']['business_date'] -%}
    {%- set location = none -%}
    {%- if tidemark.can('keep_plan') and opened['run']['plan'] == 'kept' -%}
        {%- if cfg['extract'] == 'events' -%}
            {%- set location = cfg['location'] if tidemark.lands_in_files(cfg) else none -%}
        {%- elif cfg['location'] and date -%}
            {%- set location = tidemark.extract_path(cfg['location'], date) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return({'location': location, 'there': adapter.list_files(location) if location else []}) }}
{%- endmacro -%}

{#- The same with what the load reads of it, `landed`, and what the model's SELECT reads, `read`: files and tables of Delta. -#}
{%- macro planned_inputs(opened, body, source, at) -%}
    {%- if not tidemark.can('keep_plan') or opened['run']['plan'] != 'kept' -%}{{ return(at) }}{%- endif -%}
    {%- set landing = source.get('landing') or {} -%}
    {%- if landing.get('in_files') or not source['parts'] -%}
        {{ return(dict(at, landed=(landing.get('files') or []) | map(attribute='_file') | list, read=[])) }}
    {%- endif -%}
    {{ return(dict(at, landed=none, read=adapter.input_files(body))) }}
{%- endmacro -%}
