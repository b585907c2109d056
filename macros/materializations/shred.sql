{#- entities of one schema, those of the commits after the watermark ─► typed ─► rejects, table ─► watermark

    The watermark moves last: what a run that died had written, which is what lies after it, is taken away
    first. -#}
{% materialization shred, adapter='spark', supported_languages=['sql'] %}

    {%- do tidemark.check_loads(model['name']) -%}
    {%- set cfg = tidemark.shred_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- if run['plan'] -%}{{ return(tidemark.leave_unplanned(model['name'], 'shred')) }}{%- endif -%}
    {%- set relation = cfg['target'] -%}

    {{ run_hooks(pre_hooks) }}

    {%- set done = adapter.run_step('shreds.load_shred', tidemark, cfg, run, compiled_code) -%}
    {%- call noop_statement('main', 'EMPTY' if run['empty'] else tidemark.atomic_summary(done['figures'])) -%}
    {%- endcall -%}
    {#- an --empty run adds no columns, and one that is not there cannot be described -#}
    {%- if done['build'] or not run['empty'] -%}
        {%- do persist_docs(relation, model, for_relation=false) -%}
    {%- endif -%}
    {%- do apply_grants(relation, config.get('grants'),
        should_revoke(load_cached_relation(relation), full_refresh_mode=done['build'])) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relation]}) }}

{% endmaterialization %}
