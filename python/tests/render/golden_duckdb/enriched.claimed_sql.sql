select id as "event_id", fingerprint as "fingerprint", make_timestamptz(7) as "etl_tstamp", make_timestamptz(86400000007) as "expires_at", cast(20260304000000000001 as bigint) as "_commit_id"
from (select id, fingerprint, min(coalesce(epoch_us(usable.etl), 7)) as looked_up_at
from usable group by id, fingerprint) as usable
anti join claims on usable.id = claims.id and usable.fingerprint = claims.fingerprint
and until >= looked_up_at
