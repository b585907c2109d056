merge into shop.customers__log as stored
using (
    select * from shop.customers__log
) as removed
    on stored._key_hash <=> removed._key_hash and stored._business_date <=> removed._business_date and stored._commit_id <=> removed._commit_id
when matched then delete
