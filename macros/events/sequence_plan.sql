{#- What becomes of a sequence whose type is not the recorded one, each a struct of which `sequence_1`, … are what sequence_by names:
    `wider`, the fields that the log has to widen; `casts`, those that are read as the wider type that it has (by their place in
    sequence_by); `drift` and `errors` for all else. `guessed` are the columns of a first batch that nothing says to be text: they only
    look so. -#}
{%- macro sequence_plan(cfg, type, recorded, guessed=[]) -%}
    {%- set plan = {'wider': {}, 'casts': {}, 'drift': [], 'errors': []} -%}
    {%- set fields = tidemark._struct_fields(type[7:-1]) -%}
    {%- set known = tidemark._struct_fields(recorded[7:-1]) if recorded else fields -%}
    {%- for expression in cfg['sequence_by'] -%}
        {%- set now, was = fields[loop.index0]['type'], known[loop.index0]['type'] -%}
        {%- if modules.re.search('(^|[<:,])(map<|(variant|void|interval)\\b(?!:))', now) -%}
            {%- do plan['errors'].append('sequence_by: `' ~ expression ~ '` is of type ' ~ now ~ ', by which rows cannot be ordered; name a column or an expression of another type') -%}
        {%- elif now == 'string' and expression | trim | lower | replace('`', '') in guessed -%}
            {%- do plan['errors'].append('sequence_by: `' ~ expression | replace('`', '') ~ "` comes as text, of which '10' is before '9', and 10:00:00.5Z before 10:00:00Z. "
                ~ 'Declare its data_type in the YAML: timestamp, bigint or what it is; string if the order of its letters is meant') -%}
        {%- elif now == was -%}
        {%- elif tidemark.is_widening(was, now, cfg['file_format']) -%}
            {%- do plan['wider'].update({'sequence_' ~ loop.index: now}) -%}
        {%- elif tidemark.is_widening(now, was, cfg['file_format']) -%}
            {%- do plan['casts'].update({loop.index0: was}) -%}
        {%- else -%}
            {%- do plan['drift'].append('sequence_by: `' ~ expression ~ '` was ' ~ was ~ ' and is now ' ~ now
                ~ ' (declare `data_type: ' ~ was ~ '` for the column in the YAML, or cast it in the SELECT of the model)') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(plan) }}
{%- endmacro -%}
