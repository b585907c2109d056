{#-
    extract ─► staged ─► classified ─► log (one atomic commit: from here on the change is true) ─► current

    Nothing is written before every check has passed. A run that died after the log's commit is finished by the next
    run of the entity, one that died before it is rolled back; so a crash loses nothing and doubles nothing. Change
    events take another way to the log: see load_events().
-#}
{% materialization cdc, adapter='spark', supported_languages=['sql'] %}

    {%- set cfg = tidemark.entity_config() -%}
    {%- set run = tidemark.run_config() -%}
    {%- set relations = tidemark.side_relations(this.incorporate(type='table'), cfg['file_format']) -%}

    {{ run_hooks(pre_hooks) }}

    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- if cfg['file_format'] == 'parquet' -%}
        {%- do relations.update({'root': tidemark.parquet_root(cfg, run, this)}) -%}
    {%- endif -%}
    {%- set state = tidemark.ready_state(cfg, run, relations, commits) -%}

    {%- set load = tidemark.load_events if cfg['extract'] == 'events' else tidemark.load_extract -%}
    {%- set figures = load(cfg, run, state, relations, commits, compiled_code) -%}
    {%- call noop_statement('main', 'EMPTY' if run['empty'] else tidemark.summary(figures)) -%}{%- endcall -%}

    {%- do apply_grants(this, config.get('grants'), should_revoke(load_cached_relation(this), full_refresh_mode=run['full_refresh'])) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relations['current'], relations['log'], relations['history'].incorporate(type='view')]}) }}

{% endmaterialization %}
