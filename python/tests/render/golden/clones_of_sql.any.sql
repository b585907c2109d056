select distinct relation as name
from shop.tidemark_commits
where kind = 'clone' and source_relation = 'shop.customers'
