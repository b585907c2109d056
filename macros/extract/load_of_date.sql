{#- Where a run's date lies among those loaded. `forward`: after all of them, so that it only appends.
    `observation` is what side relations of the last date are looked up by. `rebuild`: current is written anew
    from the log. -#}
{%- macro load_of_date(cfg, run, state) -%}
    {%- set first = state['first'] -%}
    {%- set latest = first or not state['last_date'] or run['business_date'] >= state['last_date'] -%}
    {%- set commit_id = tidemark.next_commit_id(state['last_id']) -%}
    {{ return({
        'commit_id': commit_id,
        'kind': 'full_refresh' if run['full_refresh'] and state['recorded'] else 'load',
        'business_date': run['business_date'],
        'last_commit_id': 0 if first else state['last_commit_id'],
        'previous_date': none if first else state['previous_date'],
        'this_commit_id': none if first else state['this_commit_id'],
        'later_loads': [] if first else state['later_loads'],
        'forward': first or not state['last_date'] or run['business_date'] > state['last_date'],
        'rebuild': not first and tidemark.is_retagged(cfg, state['recorded']),
        'last_date': run['business_date'] if latest else state['last_date'],
        'last_date_commit_id': commit_id if latest else state['last_date_commit_id'],
        'last_extract': cfg['extract'] if latest else state['last_extract'],
    }) }}
{%- endmacro -%}
