package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

type schema struct {
	name     string // the file of testdata, without .json
	compiler *jsonschema.Compiler
}

func schemas(t *testing.T, pattern string) (all []schema) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern+".json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has the schemas %v (%v)", files, err)
	}
	for _, file := range files {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text(t, file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		doc.(map[string]any)["$id"] = "file:///" + file
		c := jsonschema.NewCompiler()
		if err := c.AddResource("file:///"+file, doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := filepath.Base(file)
		all = append(all, schema{name: name[:len(name)-len(".json")], compiler: c})
	}
	return all
}

func (s schema) validate(definition string, doc any) error {
	at := "file:///testdata/" + s.name + ".json"
	if definition != "" {
		at += "#/$defs/" + definition
	}
	compiled, err := s.compiler.Compile(at)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func decode(text []byte) (docs []map[string]any, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc map[string]any
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		case doc != nil:
			docs = append(docs, doc)
		}
	}
}
