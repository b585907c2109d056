{#- Record that commits are undone by a rollback, or hold again. Doing it twice changes nothing. -#}
{%- macro mark_undone(cfg, commits, commit) -%}
    {%- set steps = tidemark.steps_of_rollback(commits, commit) -%}
    {%- do tidemark.record_undone(
        cfg, commits, commit, steps['undone'] | map(attribute='commit_id') | list, steps['redone'] | map(attribute='commit_id') | list
    ) -%}
    {{ return(steps) }}
{%- endmacro -%}

{#- Append these states of commits. A statement that reads the table it appends to is refused where another one has just done the same:
    so the rows are read first. -#}
{%- macro record_undone(cfg, commits, commit, undone, redone) -%}
    {%- if not undone and not redone -%}{{ return(none) }}{%- endif -%}
    {#- this process may have been interrupted here before -#}
    {%- do tidemark.drop_slices(cfg['target']) -%}
    {%- set sql = tidemark.undone_states_sql(commits['states'], commit, undone, redone) -%}
    {%- set slice = tidemark.make_slice(cfg['target'], commit['commit_id'], 'states', sql) -%}
    {%- do run_query(tidemark.insert_sql(commits['states'], tidemark.commit_columns(), 'select * from ' ~ slice)) -%}
    {%- do tidemark.drop_table(slice) -%}
{%- endmacro -%}

{#- What a rollback that is recorded undoes and makes hold again. -#}
{%- macro steps_of_rollback(commits, commit) -%}
    {{ return(tidemark.steps_to(tidemark.timeline(commits, commit['relation'], before=commit['commit_id']), commit['source_commit_id'])) }}
{%- endmacro -%}

{#- The commits of an entity that took effect, in order; at most one row per commit. -#}
{%- macro timeline(commits, relation, before=none) -%}
    {{ return(tidemark.query_rows(tidemark.timeline_sql(commits['states'], relation, before))) }}
{%- endmacro -%}

{#- What going from the last commit of a timeline to `target` undoes and makes hold again, and what is loaded then. -#}
{%- macro steps_to(timeline, target) -%}
    {%- set now = tidemark.live_commits(timeline, timeline[-1]['commit_id']) -%}
    {%- set then = tidemark.live_commits(timeline, target) -%}
    {%- set undone, redone, loads, work = [], [], [], [] -%}
    {%- for commit in timeline -%}
        {%- set id = commit['commit_id'] -%}
        {%- if id in then and commit['kind'] in ['load', 'full_refresh'] -%}{%- do loads.append(commit) -%}{%- endif -%}
        {%- if commit['kind'] != 'rehash' and (id in now) != (id in then) -%}
            {%- do (undone if id in now else redone).append(commit) -%}
            {%- if commit['kind'] != 'rollback' -%}{%- do work.append(id) -%}{%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set last = (loads | sort(attribute='business_date,commit_id'))[-1] if loads else {} -%}
    {{ return({
        'target': target,
        'undone': undone if work else [],
        'redone': redone if work else [],
        'last_date': last['business_date'] | string if last else none,
        'last_date_commit_id': last.get('commit_id'),
        'last_extract': last.get('extract'),
    }) }}
{%- endmacro -%}

{#- The commits whose work holds when `head` is the last one: going back from it, each commit follows the one before it,
    but a rollback follows the commit that it went to.

        c1 ── c2 ── c3        c5 (rollback to c2) ── c6        live at c6: c1 c2 c5 c6
               └──────────────┘ -#}
{%- macro live_commits(timeline, head) -%}
    {%- set live = {} -%}
    {%- set at = namespace(next=head) -%}
    {%- for commit in timeline | reverse if commit['commit_id'] <= at.next -%}
        {%- do live.update({commit['commit_id']: true}) -%}
        {%- set at.next = commit['source_commit_id'] if commit['kind'] == 'rollback' else commit['commit_id'] - 1 -%}
    {%- endfor -%}
    {{ return(live) }}
{%- endmacro -%}

{#- The loads up to `horizon` that say what was observed of their date at some commit from there on: the last one of each date, of those
    that were live at `horizon`, or before it where a later rollback went to. What an earlier load of a date observed nobody asks again.

        c1 (2nd) ── c2 (4th) ── c3 (2nd)       c4 (rollback to c1)       up to c3: c2 and c3, and c1 that holds again -#}
{%- macro last_loads(timeline, horizon) -%}
    {%- set heads, found = [horizon], [] -%}
    {%- for commit in timeline if commit['kind'] == 'rollback' and commit['commit_id'] > horizon > commit['source_commit_id'] -%}
        {%- do heads.append(commit['source_commit_id']) -%}
    {%- endfor -%}
    {%- for head in heads | unique -%}
        {%- set live, last = tidemark.live_commits(timeline, head), {} -%}
        {%- for commit in timeline if commit['commit_id'] in live and commit['kind'] in ['load', 'full_refresh'] -%}
            {%- do last.update({commit['business_date']: commit['commit_id']}) -%}
        {%- endfor -%}
        {%- do found.extend(last.values()) -%}
    {%- endfor -%}
    {{ return(found | unique | sort) }}
{%- endmacro -%}
