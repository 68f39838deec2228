package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

const (
	draft = "https://json-schema.org/draft/2020-12/schema"

	inSpec = "#/components/schemas/" // prefix of definitions in OpenAPI
	inFile = "#/$defs/"              // prefix of definitions in JSON Schema
)

func compose(dir string) (map[string]any, error) {
	schema, err := read(filepath.Join(dir, "schema", "compose-spec.json"))
	if err != nil {
		return nil, err
	}
	if schema["$schema"] != draft {
		return nil, fmt.Errorf("its schema is of %v, want %s", schema["$schema"], draft)
	}
	return strip(schema).(map[string]any), nil
}

// kubernetes returns a schema with a definition for each of kinds and for their parts. It allows
// only the published fields: with strict validation, kubectl's default, an API server refuses
// others.
func kubernetes(dir string) (map[string]any, error) {
	published := make(map[string]any)
	for _, group := range []string{"api__v1", "apis__batch__v1"} {
		spec, err := read(filepath.Join(dir, "api", "openapi-spec", "v3", group+"_openapi.json"))
		if err != nil {
			return nil, err
		}
		components, _ := spec["components"].(map[string]any)
		schemas, _ := components["schemas"].(map[string]any)
		maps.Copy(published, schemas)
	}
	defs := make(map[string]any)
	if err := reach(published, defs, kinds...); err != nil {
		return nil, err
	}
	generated, err := filepath.Glob(filepath.Join(dir, "pkg", "generated", "openapi", "zz_generated.openapi.go"))
	if err != nil || len(generated) != 1 {
		return nil, fmt.Errorf("no generated definitions in Go, which name the values of enumerations (%w)", err)
	}
	if err := addEnums(defs, generated[0]); err != nil {
		return nil, err
	}
	return map[string]any{"$schema": draft, "$defs": defs}, nil
}

// reach copies definitions and, recursively, their dependencies.
func reach(from, to map[string]any, names ...string) error {
	for _, name := range names {
		if to[name] != nil {
			continue
		}
		def, ok := from[name].(map[string]any)
		if !ok {
			return fmt.Errorf("no definition of %s", name)
		}
		def = strip(def).(map[string]any)
		if def["properties"] != nil {
			def["additionalProperties"] = false
		}
		to[name] = def
		if err := reach(from, to, references(def)...); err != nil {
			return err
		}
	}
	return nil
}

func references(node any) (names []string) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if text, ok := value.(string); ok && key == "$ref" {
				names = append(names, strings.TrimPrefix(text, inFile))
			} else {
				names = append(names, references(value)...)
			}
		}
	case []any:
		for _, value := range node {
			names = append(names, references(value)...)
		}
	}
	return names
}

// strip returns a schema without documentation, with references in JSON Schema's form.
func strip(node any) any {
	switch node := node.(type) {
	case map[string]any:
		clean := make(map[string]any)
		for key, value := range node {
			_, text := value.(string)
			switch {
			case key == "description" && text, key == "title" && text, key == "default", strings.HasPrefix(key, "x-"):
			case key == "$ref" && text:
				clean[key] = strings.Replace(value.(string), inSpec, inFile, 1)
			case key == "properties" || key == "patternProperties" || key == "$defs":
				named := make(map[string]any) // its keys are names, not keywords
				for name, schema := range value.(map[string]any) {
					named[name] = strip(schema)
				}
				clean[key] = named
			default:
				clean[key] = strip(value)
			}
		}
		return clean
	case []any:
		clean := make([]any, len(node))
		for i, value := range node {
			clean[i] = strip(value)
		}
		return clean
	}
	return node
}

func read(name string) (map[string]any, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}
