{#- The intervals of an entity, kept as a table: a run rewrites the keys that the log touched since the last one.

        log ─► keys with commits after the watermark ─► their intervals ─► MERGE ─► watermark

    The watermark moves last, so a run that died before is applied again, which changes nothing. -#}
{% materialization scd2, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.scd2_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- if run['plan'] -%}{{ return(tidemark.leave_unplanned(model['name'], 'scd2')) }}{%- endif -%}
    {%- set relation = this.incorporate(type='table') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set state = tidemark.scd2_state(cfg, run, relation, commits, compiled_code) -%}

    {%- if state['step'] == 'build' -%}
        {%- do tidemark.drop_other_format(relation, cfg['file_format']) -%}
        {%- call statement('main') -%}
            {{ tidemark.build_intervals_sql(relation, tidemark.scd2_options(cfg, run, state), compiled_code) }}
        {%- endcall -%}
        {%- do persist_docs(relation, model, for_relation=false) -%}
    {%- elif state['step'] == 'merge' -%}
        {%- call statement('main', fetch_result=true) -%}
            {{ tidemark.merge_intervals_sql(relation, state, compiled_code, cfg['valid_from']) }}
        {%- endcall -%}
    {%- else -%}
        {%- call noop_statement('main', state['message']) -%}{%- endcall -%}
    {%- endif -%}

    {%- if state['step'] != 'nothing' and not run['empty'] -%}
        {%- do tidemark.record_commit(commits, state['commit'], 'completed', tidemark.scd2_figures(cfg, state, relation)) -%}
    {%- endif -%}
    {%- do apply_grants(relation, config.get('grants'), should_revoke(state['existing'], full_refresh_mode=state['step'] == 'build')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relation]}) }}

{% endmaterialization %}
