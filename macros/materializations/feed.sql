{#- A feed, kept as a table: a run appends what was committed since the last one.

        pulls of the body (source, from, to] ─► rows after the watermark that a dead run left go ─► append ─► watermark

    The watermark moves last. A run that died before it is done again: its rows, which are those after the watermark,
    are taken away first, so that nothing is there twice. A table that a dead run made is made again: it says which commit
    that run was to end with. -#}
{% materialization feed, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.feed_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- if run['plan'] -%}{{ return(tidemark.leave_unplanned(model['name'], 'feed')) }}{%- endif -%}
    {%- set relation = this.incorporate(type='table') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set state = tidemark.feed_state(cfg, run, relation, commits, compiled_code) -%}

    {%- if state['build'] -%}
        {%- do tidemark.drop_other_format(relation, cfg['file_format']) -%}
        {%- if state['exists'] and not cfg['location_root'] -%}{%- do tidemark.drop_table(relation) -%}{%- endif -%}
        {%- do run_query('create schema if not exists ' ~ relation.include(identifier=false)) -%}
        {%- do tidemark.run_statements(
            tidemark.for_format(cfg['file_format'], 'create_table')(relation, tidemark.feed_columns(cfg, state['columns']), tidemark.feed_options(cfg, state))
        ) -%}
        {%- do persist_docs(relation, model, for_relation=false) -%}
    {%- elif not run['empty'] -%}
        {%- do tidemark.add_feed_columns(cfg, relation, state) -%}
        {%- if state['unrecorded'] -%}{%- do run_query('delete from ' ~ relation ~ ' where ' ~ state['others']) -%}{%- endif -%}
    {%- endif -%}

    {%- if not state['is_news'] -%}
        {%- call noop_statement('main', 'EMPTY' if run['empty'] else 'nothing new') -%}{%- endcall -%}
    {%- else -%}
        {%- call statement('main', fetch_result=true) -%}
            {{ tidemark.append_to_feed(cfg, relation, state, compiled_code) }}
        {%- endcall -%}
    {%- endif -%}
    {%- if not run['empty'] and (state['is_news'] or state['build']) -%}
        {%- do tidemark.record_pulls(cfg, run, commits, state) -%}
    {%- endif -%}
    {%- do apply_grants(relation, config.get('grants'), should_revoke(load_cached_relation(relation), full_refresh_mode=state['build'])) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relation]}) }}

{% endmaterialization %}
