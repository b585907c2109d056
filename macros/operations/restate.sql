{#- Load the business dates from a date on again, in their order; of change events take what landed since then anew. The extracts are looked
    for before anything is written, which needs a model whose body is `{{ tidemark.extract() }}`. -#}
{%- macro restate(entity, from=none, dry_run=false) -%}
    {%- set dry = tidemark.is_true(dry_run) -%}
    {%- set date = tidemark._business_date(from, 'restate: from') -%}
    {%- if date is none -%}
        {%- do tidemark.raise_error('usage', entity ~ ': from which business date? Give `from`, such as 2026-02-05') -%}
    {%- endif -%}
    {%- set node = tidemark.entity_node(entity) -%}
    {%- set opened = tidemark.open_entity(entity, 'restate', dry) -%}
    {%- if not opened['cfg']['location'] or not modules.re.fullmatch('\\{\\{-?\\s*tidemark\\.extract\\(\\s*\\)\\s*-?\\}\\}', node['raw_code'] | trim) -%}
        {%- do tidemark.raise_error('usage',
            entity ~ ': restate reads the extracts of a model whose body is {{ tidemark.extract() }}; this one has SQL of its own. '
            ~ 'Run its dates again with `tidemark run --select ' ~ entity ~ ' --business-date ' ~ date ~ '..`'
        ) -%}
    {%- endif -%}
    {%- set again = tidemark.restate_events if opened['cfg']['extract'] == 'events' else tidemark.restate_extracts -%}
    {%- do again(opened, date, dry) -%}
{%- endmacro -%}

{#- Load dates again, each as a run of it does. -#}
{%- macro restate_extracts(opened, from, dry_run) -%}
    {%- set cfg, commits = opened['cfg'], opened['commits'] -%}
    {%- set timeline = tidemark.timeline(commits, cfg['relation']) -%}
    {%- set dates = adapter.call_function('tidemark.rules.timeline.loaded_dates', timeline, from) -%}
    {%- set missing = [] -%}
    {%- for date in dates -%}
        {%- set path = tidemark.extract_path(cfg['location'], date) -%}
        {%- if not tidemark.files_at(path) -%}{%- do missing.append(date ~ ' (' ~ path ~ ')') -%}{%- endif -%}
    {%- endfor -%}
    {%- if not dates -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': no business date from ' ~ from ~ ' on was loaded') -%}
    {%- elif missing -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': these extracts are gone, so nothing was restated: ' ~ missing | join(', ') ~ '. Put them back, or restate from a later date'
        ) -%}
    {%- endif -%}
    {%- do tidemark.say(cfg['entity'], ('would load ' if dry_run else 'loading ') ~ dates | length ~ ' business dates again: ' ~ dates | join(', ')) -%}
    {%- for date in dates if not dry_run -%}
        {%- set figures = tidemark.load_entity(tidemark.opened_anew(opened, dict(opened['run'], business_date=date)), tidemark.extract_sql(cfg)) -%}
        {%- do tidemark.say(cfg['entity'], '  ' ~ loop.index ~ ' of ' ~ dates | length ~ ', ' ~ date ~ ': '
            ~ (tidemark.summary(figures) if figures.get('rows_logged') or figures.get('rows_superseded') else 'nothing differs')) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Go back to before the date, then take the files that landed since anew, as the next run would. -#}
{%- macro restate_events(opened, from, dry_run) -%}
    {%- set cfg, relations, commits = opened['cfg'], opened['relations'], opened['commits'] -%}
    {%- set timeline = tidemark.timeline(commits, cfg['relation']) -%}
    {%- set at = adapter.call_function('tidemark.rules.timeline.before_date', timeline, from) -%}
    {%- if at['first'] is none and not timeline | selectattr('kind', 'equalto', 'rollback') | list -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': no events arrived from ' ~ from ~ ' on') -%}
    {%- elif at['first'] is not none and at['before'] is none -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': all its events arrived from ' ~ from ~ ' on: begin again with --full-refresh') -%}
    {%- endif -%}
    {%- set steps = tidemark.steps_to(timeline, at['before'] if at['first'] is not none else timeline[-1]['commit_id']) -%}
    {#- Of what was undone before this only a rollback that is the last commit counts, as a call that died leaves it: files of other batches
        that were taken back may have been moved away for good. -#}
    {%- set left = timeline[-1] if at['first'] is none and timeline[-1]['kind'] == 'rollback' else none -%}
    {%- set undone = steps['undone'] if left is none else tidemark.steps_to(timeline[:-1], left['source_commit_id'])['undone'] -%}
    {%- set gone = tidemark.files_gone(cfg, relations, undone | map(attribute='commit_id') | list) -%}
    {%- if gone -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': these files landed since and are gone, so nothing was restated: ' ~ gone | join(', ') ~ '. Put them back, or restate from a later date'
        ) -%}
    {%- endif -%}
    {%- do tidemark.roll_back(opened, tidemark.with_columns_back(opened, steps), dry_run) -%}
    {%- if dry_run -%}
        {%- do tidemark.say(cfg['entity'], 'would take what landed since then anew') -%}
    {%- else -%}
        {%- set figures = tidemark.load_entity(tidemark.opened_anew(opened), tidemark.extract_sql(cfg)) -%}
        {%- do tidemark.say(cfg['entity'], 'taken anew: ' ~ tidemark.summary(figures)) -%}
    {%- endif -%}
{%- endmacro -%}
