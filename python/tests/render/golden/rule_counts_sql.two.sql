select
    count_if(not (id > 0)) as rule_1,
    count_if(not (`full name` <> '')) as rule_2
from staged
where _reject_reason is null
