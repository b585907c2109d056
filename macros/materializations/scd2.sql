{#- The intervals of an entity, kept as a table: a run rewrites the keys that the log touched since the last
    one.

        log ─► keys with commits after the watermark ─► their intervals ─► MERGE ─► watermark

    The watermark moves last, so a run that died before is applied again, which changes nothing. -#}
{% materialization scd2, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.scd2_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- if run['plan'] -%}{{ return(tidemark.leave_unplanned(model['name'], 'scd2')) }}{%- endif -%}
    {%- set relation = this.incorporate(type='table') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set state = adapter.run_step('intervals.open_intervals', tidemark, cfg, run, relation,
        compiled_code) -%}
    {%- if state['sql'] -%}
        {%- call statement('main', fetch_result=state['step'] == 'merge') -%}{{ state['sql'] }}{%- endcall -%}
    {%- else -%}
        {%- call noop_statement('main', state['message']) -%}{%- endcall -%}
    {%- endif -%}
    {%- if state['step'] == 'build' -%}
        {%- do persist_docs(relation, model, for_relation=false) -%}
    {%- endif -%}
    {%- do adapter.run_step('intervals.record_intervals', tidemark, cfg, run, relation, state,
        load_result('main')['table']) -%}
    {%- do apply_grants(relation, config.get('grants'),
        should_revoke(state['existing'], full_refresh_mode=state['step'] == 'build')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relation]}) }}

{% endmaterialization %}
