{#- The 131 columns of an enriched event in the order of the canonical TSV, {name, type}. The same list is in
    tidemark.shred.enriched. -#}
{%- macro enriched_columns() -%}
    {%- set columns = [] -%}
    {%- for type, names in [
        ('string', 'app_id platform'),
        ('timestamp', 'etl_tstamp collector_tstamp dvce_created_tstamp'),
        ('string', 'event event_id'),
        ('int', 'txn_id'),
        ('string', 'name_tracker v_tracker v_collector v_etl user_id user_ipaddress user_fingerprint '
            ~ 'domain_userid'),
        ('int', 'domain_sessionidx'),
        ('string', 'network_userid geo_country geo_region geo_city geo_zipcode'),
        ('double', 'geo_latitude geo_longitude'),
        ('string', 'geo_region_name ip_isp ip_organization ip_domain ip_netspeed page_url page_title '
            ~ 'page_referrer page_urlscheme page_urlhost'),
        ('int', 'page_urlport'),
        ('string', 'page_urlpath page_urlquery page_urlfragment refr_urlscheme refr_urlhost'),
        ('int', 'refr_urlport'),
        ('string', 'refr_urlpath refr_urlquery refr_urlfragment refr_medium refr_source refr_term '
            ~ 'mkt_medium mkt_source mkt_term mkt_content mkt_campaign contexts se_category se_action '
            ~ 'se_label se_property'),
        ('double', 'se_value'),
        ('string', 'unstruct_event tr_orderid tr_affiliation'),
        ('decimal(18,2)', 'tr_total tr_tax tr_shipping'),
        ('string', 'tr_city tr_state tr_country ti_orderid ti_sku ti_name ti_category'),
        ('decimal(18,2)', 'ti_price'),
        ('int', 'ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min pp_yoffset_max'),
        ('string', 'useragent br_name br_family br_version br_type br_renderengine br_lang'),
        ('boolean', 'br_features_pdf br_features_flash br_features_java br_features_director '
            ~ 'br_features_quicktime br_features_realplayer br_features_windowsmedia br_features_gears '
            ~ 'br_features_silverlight br_cookies'),
        ('string', 'br_colordepth'),
        ('int', 'br_viewwidth br_viewheight'),
        ('string', 'os_name os_family os_manufacturer os_timezone dvce_type'),
        ('boolean', 'dvce_ismobile'),
        ('int', 'dvce_screenwidth dvce_screenheight'),
        ('string', 'doc_charset'),
        ('int', 'doc_width doc_height'),
        ('string', 'tr_currency'),
        ('decimal(18,2)', 'tr_total_base tr_tax_base tr_shipping_base'),
        ('string', 'ti_currency'),
        ('decimal(18,2)', 'ti_price_base'),
        ('string', 'base_currency geo_timezone mkt_clickid mkt_network etl_tags'),
        ('timestamp', 'dvce_sent_tstamp'),
        ('string', 'refr_domain_userid'),
        ('timestamp', 'refr_dvce_tstamp'),
        ('string', 'derived_contexts domain_sessionid'),
        ('timestamp', 'derived_tstamp'),
        ('string', 'event_vendor event_name event_format event_version event_fingerprint'),
        ('timestamp', 'true_tstamp'),
    ] -%}
        {%- for name in names.split(' ') -%}
            {%- do columns.append({'name': name, 'type': type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}
