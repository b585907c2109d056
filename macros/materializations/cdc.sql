{#- extract ─► staged ─► classified ─► log (one atomic commit: from here on the change is true) ─► current

    Nothing is written before every check has passed. A run that died after the log's commit is finished by
    the next run of the entity, one that died before it is rolled back; so a crash loses nothing and doubles
    nothing. The steps are those of load_entity(). -#}
{% materialization cdc, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.entity_config() -%}
    {%- set run = tidemark.run_config() -%}

    {%- if run['plan'] -%}
        {%- set planned = tidemark.plan_entity(cfg, run, this.incorporate(type='table'), compiled_code) -%}
        {%- call noop_statement('main', planned) -%}{%- endcall -%}
        {{ return({'relations': []}) }}
    {%- endif -%}

    {%- do tidemark.check_unit_tests(model) -%}
    {{ run_hooks(pre_hooks) }}

    {%- if invocation_args_dict.get('defer') and not run['full_refresh'] and not run['empty'] -%}
        {%- set state = invocation_args_dict.get('defer_state') or invocation_args_dict.get('state') -%}
        {%- do adapter.run_step('operations.clone.begin_deferred', tidemark, model, state | string) -%}
    {%- endif -%}
    {%- set opened = tidemark.open_load(cfg, run, this.incorporate(type='table')) -%}
    {%- set figures = tidemark.load_entity(opened, compiled_code) -%}
    {%- call noop_statement('main', 'EMPTY' if run['empty'] else tidemark.summary(figures)) -%}{%- endcall -%}

    {%- do apply_grants(this, config.get('grants'),
        should_revoke(load_cached_relation(this), full_refresh_mode=run['full_refresh'])) -%}

    {{ run_hooks(post_hooks) }}

    {%- set relations = opened['relations'] -%}
    {{ return({'relations': [relations['current'], relations['log'],
        relations['history'].incorporate(type='view')]}) }}

{% endmaterialization %}
