{{ tidemark.shred('iglu:com.acme/checkoutStep/jsonschema/1-*-*') }}
