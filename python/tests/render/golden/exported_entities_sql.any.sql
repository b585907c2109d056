select
    concat(
        '{"schema":', to_json(`schema`),
        ',"data":', data,
        ',"hierarchy":', to_json(named_struct(
            'rootId', hierarchy.root_id,
            'rootTstamp', concat(string(timestampadd(second, unix_seconds(hierarchy.root_tstamp), timestamp_ntz'1970-01-01 00:00:00')), '.', left(lpad(string(pmod(unix_micros(hierarchy.root_tstamp), 1000000)), 6, '0'), if(unix_micros(hierarchy.root_tstamp) % 1000 = 0, 3, 6))),
            'refRoot', hierarchy.ref_root,
            'refTree', hierarchy.ref_tree,
            'refParent', hierarchy.ref_parent
        )), '}'
    ) as value,
    `schema`.vendor as vendor,
    `schema`.name as name,
    `schema`.format as format,
    `schema`.version as version
from shop.atomic_events__entities
where _commit_id > 7 and _commit_id <= 260304093000123
