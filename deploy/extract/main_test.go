package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTestdata(t *testing.T) {
	dir := filepath.Join("..", "testdata")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != len(sources) {
		t.Errorf("testdata has %v, want %d files (%v)", files, len(sources), err)
	}
	for _, s := range sources {
		schema, err := read(filepath.Join(dir, s.file))
		if err != nil {
			t.Fatal(err)
		}
		comment := fmt.Sprint(schema["$comment"])
		for _, want := range []string{s.module, s.version, s.sum, "Apache License 2.0"} {
			if !strings.Contains(comment, want) {
				t.Errorf("%s says %q, want %q in it: run go run ./deploy/extract", s.file, comment, want)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, s.file))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := lines(schema); err != nil || string(again) != string(text) {
			t.Errorf("%s is not as lines writes it (%v): it was edited by hand", s.file, err)
		}
	}
}

// A module like Kubernetes, reduced to the files that are read.
var module = map[string]string{
	"api/openapi-spec/v3/api__v1_openapi.json": `{"components":{"schemas":{
		"io.k8s.api.core.v1.Service":{"type":"object","description":"d","properties":{"policy":{"type":"string"},"description":{"type":"string","default":""}}},
		"io.k8s.api.core.v1.ConfigMap":{"type":"object","additionalProperties":{"type":"string"}},
		"io.k8s.api.core.v1.Secret":{"type":"object"}}}}`,
	"api/openapi-spec/v3/apis__batch__v1_openapi.json": `{"components":{"schemas":{
		"io.k8s.api.batch.v1.Job":{"type":"object","required":["spec"],"x-kubernetes-group":{},"properties":{"spec":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.batch.v1.JobSpec"}],"default":{}}}},
		"io.k8s.api.batch.v1.JobSpec":{"type":"object","properties":{"modes":{"type":"array","items":{"type":"string"}},"job":{"$ref":"#/components/schemas/io.k8s.api.batch.v1.Job"}}}}}}`,
	"pkg/generated/openapi/zz_generated.openapi.go": `package openapi
func schema_k8sio_api_batch_v1_JobSpec() Def {
	return Def{Properties: map[string]Schema{
		"modes": {
			VendorExtensible: V{Extensions: map[string]any{"x-list": map[string]any{"a": 1}}},
			SchemaProps: P{Items: &A{Schema: &S{SchemaProps: P{Enum: []interface{}{"A", "B", "B"}}}}},
		},
	}}
}
func schema_k8sio_api_core_v1_Service() Def {
	return Def{Properties: map[string]Schema{"policy": {SchemaProps: P{Enum: []interface{}{"C"}}}}}
}
func schema_k8sio_api_core_v1_Secret() Def {
	return Def{Properties: map[string]Schema{"other": {SchemaProps: P{Enum: []interface{}{"D"}}}}}
}`,
}

func put(t *testing.T, replaced map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range module {
		if other, ok := replaced[name]; ok {
			text = other
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestKubernetes(t *testing.T) {
	got, err := kubernetes(put(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
		"io.k8s.api.batch.v1.Job":{"type":"object","required":["spec"],"additionalProperties":false,"properties":{"spec":{"allOf":[{"$ref":"#/$defs/io.k8s.api.batch.v1.JobSpec"}]}}},
		"io.k8s.api.batch.v1.JobSpec":{"type":"object","additionalProperties":false,"properties":{"modes":{"type":"array","items":{"type":"string","enum":["A","B"]}},"job":{"$ref":"#/$defs/io.k8s.api.batch.v1.Job"}}},
		"io.k8s.api.core.v1.Service":{"type":"object","additionalProperties":false,"properties":{"policy":{"type":"string","enum":["C"]},"description":{"type":"string"}}},
		"io.k8s.api.core.v1.ConfigMap":{"type":"object","additionalProperties":{"type":"string"}}
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got["$defs"], any(want)) {
		t.Errorf("got %v, want %v", got["$defs"], want)
	}
}

// TestKubernetesMisses: unexpected content is an error, not a smaller schema.
func TestKubernetesMisses(t *testing.T) {
	const batch, core, generated = "api/openapi-spec/v3/apis__batch__v1_openapi.json", "api/openapi-spec/v3/api__v1_openapi.json", "pkg/generated/openapi/zz_generated.openapi.go"
	for name, c := range map[string]struct{ file, old, new, want string }{
		"no definition":   {core, "v1.ConfigMap", "v1.Map", "no definition of io.k8s.api.core.v1.ConfigMap"},
		"no reference":    {batch, "v1.JobSpec\"}", "v1.Spec\"}", "no definition of io.k8s.api.batch.v1.Spec"},
		"no JSON":         {core, "{", "[", core},
		"no Go":           {generated, "package", "packet", "expected 'package'"},
		"no enumerations": {generated, "Enum", "Values", "no enumerations"},
		"other property":  {generated, `"policy"`, `"politics"`, `"politics"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(module[c.file], c.old, c.new)
			if text == module[c.file] {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			if _, err := kubernetes(put(t, map[string]string{c.file: text})); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
