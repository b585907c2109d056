{#- landed lines ─► keys (narrow) ─► manifest: check and set ─► decided ─► rejects, entities ─► atomic events

    The append to atomic events is the commit point. What a run that died wrote before it (claims, rejects,
    entities) is taken away by the next one, which then takes the files again; so a crash loses nothing and
    doubles nothing. -#}
{% materialization atomic, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.atomic_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- if run['plan'] -%}{{ return(tidemark.leave_unplanned(model['name'], 'atomic')) }}{%- endif -%}

    {%- do tidemark.check_unit_tests(model) -%}
    {{ run_hooks(pre_hooks) }}

    {%- set opened = tidemark.open_load(cfg, run) -%}
    {%- set figures = tidemark.load_entity(opened, compiled_code) -%}
    {%- call noop_statement('main', 'EMPTY' if run['empty'] else tidemark.atomic_summary(figures)) -%}
    {%- endcall -%}

    {%- do apply_grants(this, config.get('grants'),
        should_revoke(load_cached_relation(this), full_refresh_mode=run['full_refresh'])) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [opened['relations']['current'], opened['relations']['entities']]}) }}

{% endmaterialization %}
