select
    concat(
        '{"schema":', to_json(`schema`),
        ',"data":', data,
        ',"hierarchy":', to_json(named_struct(
            'rootId', hierarchy.root_id,
            'rootTstamp', if(unix_micros(hierarchy.root_tstamp) % 1000 = 0, to_csv(struct(hierarchy.root_tstamp), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSS')), to_csv(struct(hierarchy.root_tstamp), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))),
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
