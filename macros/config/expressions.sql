{#- Refuse SQL of the YAML that would break the statement it is put into, before Spark is asked; `setting` names it. What cannot be
    judged by its letters is left to Spark. Returns whether it may be an expression. -#}
{%- macro _check_expression(setting, text, errors) -%}
    {%- if text is not string -%}
        {%- do errors.append(setting ~ ' must be an SQL expression, found: ' ~ text) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set problem = tidemark._expression_problem(text) -%}
    {%- if problem -%}{%- do errors.append(setting ~ ': `' ~ text | trim ~ '` ' ~ problem) -%}{%- endif -%}
    {{ return(not problem) }}
{%- endmacro -%}

{#- What is wrong with an expression, in the words that follow it; none if it may be one. -#}
{%- macro _expression_problem(text) -%}
    {%- set quoted = "'(?:[^'\\\\]|\\\\[\\s\\S])*'|\"(?:[^\"\\\\]|\\\\[\\s\\S])*\"|`[^`]*`" -%}
    {%- set bare = modules.re.sub(quoted, 'x', text) -%}
    {%- set open = modules.re.search("['\"`]", bare) -%}
    {%- if not text | trim -%}{{ return('is empty') }}{%- endif -%}
    {%- if open -%}{{ return('has a quote ' ~ open.group(0) ~ ' that nothing closes') }}{%- endif -%}
    {%- if '--' in bare or '/*' in bare -%}{{ return('has a comment: write it in the YAML, after #') }}{%- endif -%}
    {%- if ';' in bare -%}{{ return('has a `;`: it is an expression, not a statement') }}{%- endif -%}
    {%- set closes = {')': '(', ']': '['} -%}
    {%- set opened = [] -%}
    {%- for bracket in modules.re.findall('[][(),]', bare) -%}
        {%- if bracket in '([' -%}
            {%- do opened.append(bracket) -%}
        {%- elif bracket == ',' -%}
            {%- if not opened -%}{{ return('is more than one expression: of several write a list') }}{%- endif -%}
        {%- elif not opened or opened.pop() != closes[bracket] -%}
            {{ return('has a `' ~ bracket ~ '` that nothing opens') }}
        {%- endif -%}
    {%- endfor -%}
    {%- if opened -%}{{ return('has a `' ~ opened[-1] ~ '` that nothing closes') }}{%- endif -%}
    {%- if modules.re.search('(?i)\\s(asc|desc|nulls\\s+(first|last))\\s*$', bare) -%}
        {{ return('has a direction: the greatest is the last; turn a number round by a minus') }}
    {%- endif -%}
{%- endmacro -%}
