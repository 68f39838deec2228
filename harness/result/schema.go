package result

import _ "embed"

// JSONSchema describes every line of results.jsonl that this version writes, in
// JSON Schema, draft 2020-12.
//
//go:embed results.schema.json
var JSONSchema []byte
