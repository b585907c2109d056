{#- What a load would do, worked out by the steps of the load itself as far as its commit, which does not come:

        open                    nothing is mended: what a dead run left stops the plan       open_load()
        source, stage, derive   those of load_entity(), by Spark, as there are samples       <family>__…
        tell                    counts, columns, samples, rejects, files, dates              planned_facts()
        keep                    for `tidemark plan`, or as tables                            keep_plan()

    Nothing of the entity is made, altered or written: where a load would alter a table, views take its place (see
    opened_to_come()). Of change events the first part is planned. Returns the line that dbt prints. -#}
{%- macro plan_entity(cfg, run, current, body) -%}
    {%- if run['empty'] -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': a plan needs the rows that --empty leaves out') -%}
    {%- endif -%}
    {%- if run['plan'] == 'kept' and not tidemark.can('keep_plan') -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ": `tidemark plan` needs `type: tidemark` with `method: session` in the profile. By a Thrift server dbt gives a plan as tables: dbt run --vars 'plan: true'"
        ) -%}
    {%- endif -%}
    {%- set opened = tidemark.open_load(dict(cfg, asked_engine=cfg['engine'], engine='spark'), dict(run, dry_run=true), current) -%}
    {%- set opened = dict(opened, state=dict(opened['state'], log_version=none)) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- set at = tidemark.files_at_location(opened) -%}
    {%- set source = adapter.run_step('families.take_step', tidemark, cfg, 'source', opened, body) -%}
    {%- set inputs = tidemark.planned_inputs(opened, body, source, at) -%}
    {%- if source['parts'] -%}
        {%- set staged = adapter.run_step('families.take_step', tidemark, cfg, 'stage', opened, source, source['parts'][0]) -%}
        {%- set derived = adapter.run_step('families.take_step', tidemark, cfg, 'derive', tidemark.opened_to_come(opened, staged['plan']), staged, none) -%}
        {%- set facts = tidemark.planned_facts(opened, body, source, staged, derived) -%}
        {%- set queries = tidemark.planned_queries(opened, staged, derived) -%}
    {%- else -%}
        {%- set facts, queries = tidemark.no_planned_facts(opened), {} -%}
    {%- endif -%}
    {%- do tidemark.keep_plan(opened, facts, queries, inputs) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {{ return('PLAN ' ~ tidemark.summary(facts['counts'])) }}
{%- endmacro -%}

{#- A model of another kind is left as it is by a run that plans. -#}
{%- macro leave_unplanned(name, kind) -%}
    {%- do log(name ~ ': not planned, as a plan is of extracts and change events: its table follows once they are loaded' if kind != 'atomic'
        else name ~ ': not planned, as batches of enriched events are not', info=true) -%}
    {%- call noop_statement('main', 'NOT PLANNED') -%}{%- endcall -%}
    {{ return({'relations': []}) }}
{%- endmacro -%}
