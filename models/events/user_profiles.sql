{{ tidemark.shred('iglu:com.acme/userProfile/jsonschema/1-*-*') }}
