{#- What a run needs to know of an entity's commits, from all their states: see entity_states_sql(), whose order counts. The same as
    entity_state_sql() works out where they are many. `undone` are all commits that were rolled back: a run that was taken for dead may
    have written beside the log after that. `left_refresh`: the last full refresh died, and nothing was loaded since. -#}
{%- macro judged_state(states, business_date) -%}
    {%- set commits = tidemark.last_states(states) -%}
    {%- set completed = commits | selectattr('state', 'equalto', 'completed') | list -%}
    {%- set log_kinds = tidemark.log_kinds() | replace("'", '') -%}
    {%- set log_kinds = log_kinds.split(', ') -%}
    {%- set log_start = completed | selectattr('kind', 'equalto', 'full_refresh') | map(attribute='commit_id') | first | default(0) -%}
    {%- set since = completed | selectattr('commit_id', '>=', log_start) | list -%}
    {%- set loads, extracts = [], {} -%}
    {%- for row in since if row['kind'] in ['load', 'full_refresh'] -%}
        {%- if row['config'] not in extracts -%}{%- do extracts.update({row['config']: fromjson(row['config'] or '{}').get('extract')}) -%}{%- endif -%}
        {%- do loads.append({
            'business_date': row['business_date'] | string if row['business_date'] else '', 'commit_id': row['commit_id'], 'extract': extracts[row['config']],
        }) -%}
    {%- endfor -%}
    {%- set dates = loads | map(attribute='business_date') | select | list -%}
    {%- set later_loads, this_loads, earlier = {}, [], [] -%}
    {%- for load in loads | sort(attribute='business_date,commit_id') if business_date and load['business_date'] -%}
        {%- if load['business_date'] > business_date -%}
            {%- do later_loads.update({load['business_date']: load}) -%}
        {%- else -%}
            {%- do (this_loads if load['business_date'] == business_date else earlier).append(load) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set inflight = [] -%}
    {%- for row in commits | sort(attribute='commit_id') if row['state'] == 'inflight' and row['kind'] in log_kinds -%}
        {%- set commit = {'commit_id': row['commit_id'], 'kind': row['kind'], 'config': row['config']} -%}
        {%- if row['business_date'] -%}{%- do commit.update({'business_date': row['business_date'] | string}) -%}{%- endif -%}
        {%- do inflight.append(commit) -%}
    {%- endfor -%}
    {%- set full = commits | selectattr('kind', 'equalto', 'full_refresh') | list -%}
    {%- set failed = full | selectattr('state', 'equalto', 'rolled_back') | selectattr('undone_by', 'none') | map(attribute='commit_id') | first | default(0) -%}
    {%- set loaded = completed | selectattr('kind', 'in', ['load', 'full_refresh']) | map(attribute='commit_id') | first | default(0) -%}
    {%- set config = completed | map(attribute='config') | select | first | default(none) -%}
    {{ return({
        'last_id': commits | map(attribute='commit_id') | first | default(none),
        'last_commit_id': completed | selectattr('kind', 'in', log_kinds) | map(attribute='commit_id') | first | default(0),
        'last_sequence_num': since | map(attribute='last_sequence_num') | reject('none') | list | max | default(none),
        'recorded': fromjson(config) if config else none,
        'left_refresh': failed > loaded,
        'has_erased': completed | selectattr('kind', 'equalto', 'erase_key') | list | length > 0,
        'undone': commits | selectattr('state', 'equalto', 'rolled_back') | map(attribute='commit_id') | list,
        'inflight': inflight,
        'this_commit_id': this_loads[-1]['commit_id'] if this_loads else none,
        'this_extract': this_loads[-1]['extract'] if this_loads else none,
        'previous_date': earlier[-1]['business_date'] if earlier else none,
        'previous_extract': earlier[-1]['extract'] if earlier else none,
        'last_date': dates | max if dates else none,
        'last_date_commit_id': (loads | sort(attribute='business_date,commit_id') | last)['commit_id'] if loads else none,
        'last_extract': (loads | sort(attribute='business_date,commit_id') | last)['extract'] if loads else none,
        'later_loads': later_loads.values() | list,
    }) }}
{%- endmacro -%}

{#- The last state of each commit, the last commit first: `states` come in the order of entity_states_sql(). -#}
{%- macro last_states(states) -%}
    {%- set commits = {} -%}
    {%- for row in states if row['commit_id'] not in commits -%}{%- do commits.update({row['commit_id']: row}) -%}{%- endfor -%}
    {{ return(commits.values() | list) }}
{%- endmacro -%}

{#- How far what is derived from an entity has read it, from the states of `own` commits and of the entity's `others`, and what those
    are by now. The same as scd2_state_sql() and shred_marks_sql() work out: `done` is the last completed run of that kind, none without
    one; `replaced` are commits with which the entity's log began anew, the last first; `ended` is the last load before what is in
    flight, `undone` are those that were rolled back, also because their run died: it may have been alive, and have written on. -#}
{%- macro judged_marks(own, others, kind) -%}
    {%- set own, others = tidemark.last_states(own), tidemark.last_states(others) -%}
    {%- set loads = others | selectattr('kind', 'in', ['load', 'full_refresh']) | list -%}
    {%- set ended = loads | selectattr('state', 'equalto', 'completed') | map(attribute='commit_id') | list -%}
    {%- set inflight = loads | selectattr('state', 'equalto', 'inflight') | map(attribute='commit_id') | list -%}
    {%- if inflight -%}{%- set ended = ended | select('lt', inflight | min) | list -%}{%- endif -%}
    {{ return({
        'last_id': own | map(attribute='commit_id') | first | default(none),
        'done': own | selectattr('kind', 'equalto', kind) | selectattr('state', 'equalto', 'completed') | first | default(none),
        'replaced': others | selectattr('kind', 'in', ['full_refresh', 'rehash']) | selectattr('state', 'equalto', 'completed') | list,
        'ended': ended | first | default(0),
        'undone': others | selectattr('state', 'equalto', 'rolled_back') | map(attribute='commit_id') | list,
    }) }}
{%- endmacro -%}
