select
    count_if(not (id > 0)) as rule_1,
    count_if(not (name <> '')) as rule_2
from typed
where _reject_reason is null
