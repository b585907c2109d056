{#- What an operation needs of a `materialized: atomic` model, once no commit is in flight; a dry run is refused while one is: see
    open_entity(). -#}
{%- macro open_atomic(node, dry_run=false) -%}
    {%- set cfg = tidemark.atomic_config(node) -%}
    {%- do tidemark.check_loads(cfg['entity']) -%}
    {%- set run = dict(tidemark.run_config(), dry_run=dry_run) -%}
    {%- set known = {'cfg': cfg, 'run': run, 'relations': tidemark.atomic_relations(cfg), 'commits': tidemark.ensure_commits(run), 'events': cfg['relation']} -%}
    {{ return(dict(known, state=tidemark.settled_state(known))) }}
{%- endmacro -%}
