{#- What event_intervals_sql() has to know of an events entity: `tracked`, the columns whose change begins a
    version with name, type and whether they are kept apart (none: all that are compared), `sensitive`, where
    those are, and `hash`. -#}
{%- macro tracked_flow(relation, flow) -%}
    {%- set cfg = flow['cfg'] -%}
    {%- set known = {
        'sequence_by': cfg['sequence_by'], 'on_tie': cfg['on_tie'], 'hash': cfg['hash'],
        'sensitive': tidemark.side_relation(relation, 'sensitive'),
        'tracked': none, 'has_copies': not cfg['keys'],
    } -%}
    {%- if cfg['tracked']['all'] and not cfg['tracked']['exclude'] -%}{{ return(known) }}{%- endif -%}
    {%- set others = tidemark.reserved_columns() + (cfg['keys'] + cfg['ignore']) | map('lower') | list -%}
    {%- set columns = [] -%}
    {%- for side in ['log', 'sensitive'] -%}
        {%- set beside = tidemark.side_relation(relation, side) -%}
        {%- if (side == 'log' or cfg['sensitive']) and tidemark.relation_exists(beside) -%}
            {%- for column in tidemark.describe_query('select * from ' ~ beside)
                if column['name'] | lower not in others
                    and tidemark.is_chosen(cfg['tracked'], column['name']) -%}
                {%- do columns.append({'name': column['name'], 'type': column['type'],
                    'sensitive': side == 'sensitive'}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do known.update({'tracked': columns}) -%}
    {{ return(known) }}
{%- endmacro -%}
