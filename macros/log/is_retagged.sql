{#- Whether current is to show other rows, or other tags, than by what was recorded: it is then written anew from the log. -#}
{%- macro is_retagged(cfg, recorded) -%}
    {{ return(cfg['tag_unchanged'] != recorded['tag_unchanged'] or cfg['soft_delete'] != recorded['soft_delete']) }}
{%- endmacro -%}
