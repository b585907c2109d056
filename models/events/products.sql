{{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*') }}
