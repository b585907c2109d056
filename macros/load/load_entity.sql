{#- Every load takes these steps, whatever its family. What a step returns is not changed by later ones, and nothing can be
    seen of a load before its commit:

        open     settings, relations, state; what a dead run left is finished or rolled back     open_load()
        source   what there is to read, as a view; files are listed once                         <family>__source()
        stage    typed, hashed, rejects told apart, counted: {plan, load, figures, rejects}      <family>__stage()
        check    rejects, the guards: so far nothing was written                                 check_load()
        prepare  tables are made, or get the columns that are new                                <family>__prepare()
        derive   the rows of the log, and what is written beside it                              <family>__derive()
        commit   what lies beside the log, then the log, in one atomic commit                    commit_load()
        apply    current follows the log                                                         apply_load()
        record   the commit is complete in tidemark_commits                                      record_load()

    A family is a recipe: the folders extract, events and enriched hold its source, stage and derive. A source has parts,
    each a commit of its own: one, or of change events one between any two DDL events. Returns the sums of all parts'
    figures, none if there was nothing to load. -#}
{%- macro load_entity(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- do tidemark.clear_slices(cfg['target']) -%}
    {%- set source = tidemark.step(cfg, 'source')(opened, body) -%}
    {%- set at = namespace(opened=opened, source=source, figures=none, plan={}, notes=[]) -%}
    {%- for part in source['parts'] -%}
        {%- set staged = tidemark.step(cfg, 'stage')(at.opened, at.source, part) -%}
        {%- do tidemark.check_load(at.opened, staged) -%}
        {%- do tidemark.step(cfg, 'prepare')(at.opened, staged) -%}
        {%- if staged.get('again') -%}
            {%- set staged = tidemark.step(cfg, 'stage')(tidemark.opened_evolved(at.opened), at.source, part) -%}
            {#- a file may have been replaced meanwhile -#}
            {%- do tidemark.check_load(at.opened, staged) -%}
        {%- endif -%}
        {%- if not run['empty'] -%}
            {%- set commit = tidemark.new_commit(at.opened, staged['load'], staged['plan']['recorded']) -%}
            {%- set derived = tidemark.step(cfg, 'derive')(at.opened, staged, commit) -%}
            {%- set committed = tidemark.commit_load(at.opened, staged['plan'], derived, commit) -%}
            {%- if derived['outcome'] == 'commit' -%}{%- do tidemark.check_replaced_log(at.opened, commit) -%}{%- endif -%}
            {#- rejects alone: no commit of the log keeps those of two runs apart -#}
            {%- if derived['outcome'] == 'commit' and derived['figures'].get('rows_rejected') and not tidemark.is_logged(derived) -%}
                {%- do tidemark.check_is_alone(at.opened, commit) -%}
            {%- endif -%}
            {%- set is_ours = tidemark.is_still_ours(at.opened, derived, commit) -%}
            {%- if derived['outcome'] == 'commit' and is_ours -%}
                {%- do tidemark.apply_load(at.opened, staged['plan'], committed['load'], commit, derived['figures']) -%}
            {%- endif -%}
            {%- if is_ours -%}{%- do tidemark.record_load(at.opened, derived, commit) -%}{%- endif -%}
            {%- do tidemark.tell_rejects(cfg, derived['figures'], staged['rejects'], at.opened['relations']['rejects'],
                '_commit_id = ' ~ derived.get('rejects_commit_id', commit['commit_id'])) -%}
            {%- if derived['outcome'] == 'commit' and cfg['family'] != 'enriched' -%}
                {%- set at.notes = at.notes + tidemark.tell_erased_back(at.opened, commit) -%}
            {%- endif -%}
            {%- set at.figures = tidemark.sum_of_figures(at.figures, derived['figures']) -%}
            {%- set at.opened = tidemark.opened_after(at.opened, staged['plan'], committed) -%}
            {%- set at.source = staged.get('source', at.source) -%}
            {%- set at.plan = staged['plan'] -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- if opened['state']['first'] -%}{%- do tidemark.tell_other_tables(cfg, at.figures or {}) -%}{%- endif -%}
    {%- if not at.plan.get('columns') -%}{{ return(at.figures) }}{%- endif -%}
    {%- set columns = tidemark.tell_new_columns(cfg, at.plan, none if opened['state']['first'] else opened['state']['recorded']) -%}
    {{ return(dict(at.figures, notes=at.notes + columns)) }}
{%- endmacro -%}

{#- The macro that does a step for an entity's family; extracts and change events, which both have a log, share those named log__. -#}
{%- macro step(cfg, name) -%}
    {{ return(tidemark[cfg['family'] ~ '__' ~ name] or tidemark['log__' ~ name]) }}
{%- endmacro -%}

{%- macro sum_of_figures(sums, figures) -%}
    {%- set total = dict(sums or {}) -%}
    {%- for name, value in figures.items() if name.startswith('rows_') -%}
        {%- do total.update({name: total.get(name, 0) + (value or 0) | int}) -%}
    {%- endfor -%}
    {{ return(total) }}
{%- endmacro -%}

{#- What the next part of a source is loaded onto. -#}
{%- macro opened_after(opened, plan, committed) -%}
    {%- set load = committed['load'] -%}
    {{ return(dict(opened, state=dict(
        opened['state'], first=false, has_log=true, recorded=plan['recorded'], last_id=load['commit_id'], last_commit_id=load['commit_id'],
        last_date=load['business_date'], last_date_commit_id=load['commit_id'], last_sequence_num=load.get('last_sequence_num'),
        log_version=committed['log_version']
    ))) }}
{%- endmacro -%}

{#- Say what is new about the columns; what the run's line says of it. -#}
{%- macro tell_new_columns(cfg, plan, recorded) -%}
    {%- set told = tidemark.new_columns(cfg, plan, recorded) -%}
    {%- for sentence in told['long'] -%}{%- do log(cfg['entity'] ~ ': ' ~ sentence, info=true) -%}{%- endfor -%}
    {{ return(told['short']) }}
{%- endmacro -%}

{#- One line on what a load did. -#}
{%- macro summary(figures) -%}
    {%- set parts = [] -%}
    {%- for label, name in [('I', 'rows_inserted'), ('U', 'rows_updated'), ('D', 'rows_deleted'), ('N', 'rows_unchanged'),
                            ('X', 'rows_not_supplied'), ('rejected', 'rows_rejected'), ('duplicate', 'rows_duplicate'), ('tied', 'rows_tied')] -%}
        {%- set count = (figures or {}).get(name, 0) -%}
        {%- if count or name in ['rows_inserted', 'rows_updated', 'rows_deleted'] -%}
            {%- do parts.append(label ~ ' ' ~ count) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return((parts + (figures or {}).get('notes', [])) | join(', ')) }}
{%- endmacro -%}
