create or replace table shop.customers_past
using delta
cluster by (`id`)
location '/lake/customers_past'
comment 'The customers\' past'
tblproperties ('delta.columnMapping.mode' = 'name', 'tidemark.scd2_commit' = '260304093000123')
as
select * from intervals
