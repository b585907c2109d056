{#- A feed, kept as a table: a run appends what was committed since the last one.

        pulls of the body (source, from, to] ─► rows after the watermark that a dead run left go ─► append ─► watermark

    The watermark moves last. A run that died before it is done again: its rows, which are those after the
    watermark, are taken away first, so that nothing is there twice. A table that a dead run made is made
    again: it says which commit that run was to end with. -#}
{% materialization feed, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.feed_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- if run['plan'] -%}{{ return(tidemark.leave_unplanned(model['name'], 'feed')) }}{%- endif -%}
    {%- set relation = this.incorporate(type='table') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set state = adapter.run_step('feeds.open_feed', tidemark, cfg, run, relation, compiled_code) -%}
    {%- if state['build'] -%}{%- do persist_docs(relation, model, for_relation=false) -%}{%- endif -%}
    {%- if state['sql'] -%}
        {%- call statement('main', fetch_result=true) -%}{{ state['sql'] }}{%- endcall -%}
    {%- else -%}
        {%- call noop_statement('main', 'EMPTY' if run['empty'] else 'nothing new') -%}{%- endcall -%}
    {%- endif -%}
    {%- do adapter.run_step('feeds.record_feed', tidemark, cfg, run, relation, state,
        load_result('main')['table']) -%}
    {%- do apply_grants(relation, config.get('grants'),
        should_revoke(load_cached_relation(relation), full_refresh_mode=state['build'])) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relation]}) }}

{% endmaterialization %}
