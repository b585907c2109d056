{#- clean() of a `materialized: atomic` model: claims that no batch finds any more go, and rejects that `rejects_retention` does not keep. -#}
{%- macro clean_atomic(entity, dry_run, vacuum, retention) -%}
    {%- set opened = tidemark.open_atomic(entity) -%}
    {%- set cfg, commits, relations = opened['cfg'], opened['commits'], opened['relations'] -%}
    {%- set lengths = tidemark.retention_lengths(cfg, retention) -%}
    {%- set steps = [] -%}
    {%- set last = run_query('select unix_micros(max(etl_tstamp)) from ' ~ commits['view'] ~ " where state = 'completed' and relation = " ~ tidemark.string_literal(cfg['relation']))[0][0] -%}
    {%- if last is not none and cfg['manifest'] is none and tidemark.relation_exists(relations['manifest']) -%}
        {%- do steps.append({'relation': relations['manifest'], 'what': 'expired claims', 'condition': 'expires_at < timestamp_micros(' ~ last ~ ')'}) -%}
    {%- endif -%}
    {%- if 'rejects' in lengths and tidemark.relation_exists(relations['rejects']) -%}
        {%- set horizon = run_query(tidemark.feed_horizon_sql(commits['states'], cfg['relation'], lengths['rejects']))[0][0] | int -%}
        {%- do steps.append({'relation': relations['rejects'], 'what': 'rejects', 'condition': '_commit_id <= ' ~ horizon}) -%}
    {%- endif -%}
    {%- set removed = {} -%}
    {%- for step in steps -%}
        {%- set count = run_query('select count(*) from ' ~ step['relation'] ~ ' where ' ~ step['condition'])[0][0] | int -%}
        {%- do tidemark.say(entity, ('would remove ' if dry_run else 'removing ') ~ count ~ ' ' ~ step['what'] ~ ' of ' ~ step['relation'].identifier) -%}
        {%- if count and not dry_run -%}
            {%- do run_query('delete from ' ~ step['relation'] ~ ' where ' ~ step['condition']) -%}
            {%- do removed.update({step['relation'].identifier ~ ': ' ~ step['what']: count}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if removed -%}
        {%- if vacuum -%}
            {%- for step in steps -%}{%- do run_query('vacuum ' ~ step['relation']) -%}{%- endfor -%}
        {%- endif -%}
        {%- set record = tidemark.operation_commit(opened, 'clean') -%}
        {%- do record.update({'details': tojson({'retention': lengths, 'removed': removed, 'vacuum': vacuum})}) -%}
        {%- do tidemark.record_commit(commits, record, 'completed', {}) -%}
    {%- endif -%}
{%- endmacro -%}
