select row_number() over () as number, field, text, list(place) as places, not regexp_matches(text, '[:,\[]-?[0-9]+(\.[0-9]+)?[eE]|[:,\[]-0\.0+[,\]}]|\\u') as is_plain
from (select 'contexts' as field, c52 as text, rowid as place from texts where c52 is not null
union all select 'unstruct_event' as field, c58 as text, rowid as place from texts where c58 is not null
union all select 'derived_contexts' as field, c122 as text, rowid as place from texts where c122 is not null) group by field, text
