package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

type source struct {
	file    string
	from    string // the part of the module
	module  string
	version string
	sum     string // as in go.sum

	extract func(dir string) (map[string]any, error) // from the module in dir
}

// kinds are the kinds of manifest; their parts are extracted with them.
var kinds = []string{
	"io.k8s.api.batch.v1.Job",
	"io.k8s.api.core.v1.Service",
	"io.k8s.api.core.v1.ConfigMap",
}

var sources = []source{
	{
		file:   "kubernetes-1.29.json",
		from:   "api/openapi-spec/v3 and, for enumerations, pkg/generated/openapi",
		module: "k8s.io/kubernetes", version: "v1.29.15", sum: "h1:hLcyf3XmxtfkubCEmmPX5QVD7lDclXjvEUrJeP283LM=",
		extract: kubernetes,
	},
	{
		file:   "kubernetes-1.37.json",
		from:   "api/openapi-spec/v3 and, for enumerations, pkg/generated/openapi",
		module: "k8s.io/kubernetes", version: "v1.37.2", sum: "h1:A2VDEiObzkYqFTKhSsn0ZEb0RlLEXpHWj93gi2HqEwE=",
		extract: kubernetes,
	},
	{
		file:   "compose.json",
		from:   "schema/compose-spec.json, Copyright 2020 The Compose Specification Authors",
		module: "github.com/compose-spec/compose-go/v2", version: "v2.16.2", sum: "h1:pTp1DqQwJzFd85GzlWsSszKA1ABrV/ySqsClujIcWA8=",
		extract: compose,
	},
}

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "extract: it takes no arguments")
		os.Exit(2)
	}
	for _, s := range sources {
		if err := s.write(filepath.Join("deploy", "testdata")); err != nil {
			fmt.Fprintf(os.Stderr, "extract: %s: %v\n", s.file, err)
			os.Exit(1)
		}
	}
}

func (s source) write(dir string) error {
	cmd := exec.Command("go", "mod", "download", "-json", s.module+"@"+s.version)
	cmd.Dir = os.TempDir() // outside any module, whose go.sum it would change
	out, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil || err != nil || got.Error != "" {
		return fmt.Errorf("go mod download %s@%s: %s %w", s.module, s.version, got.Error, errors.Join(err, jsonErr))
	}
	if got.Sum != s.sum {
		return fmt.Errorf("%s@%s has the sum %s, want %s", s.module, s.version, got.Sum, s.sum)
	}
	schema, err := s.extract(got.Dir)
	if err != nil {
		return err
	}
	schema["$comment"] = fmt.Sprintf("Written by deploy/extract from %s %s (%s), %s. Apache License 2.0.", s.module, s.version, s.sum, s.from)
	text, err := lines(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, s.file), text, 0o644)
}

// lines encodes a schema with one definition per line.
func lines(schema map[string]any) ([]byte, error) {
	defs, _ := schema["$defs"].(map[string]any)
	rest := maps.Clone(schema)
	delete(rest, "$defs")
	var b bytes.Buffer
	b.WriteString("{\n")
	entry := func(indent, key string, value any, last bool) error {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s%q: %s", indent, key, text)
		if !last {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		if err := entry("  ", key, rest[key], false); err != nil {
			return nil, err
		}
	}
	b.WriteString("  \"$defs\": {\n")
	names := slices.Sorted(maps.Keys(defs))
	for i, name := range names {
		if err := entry("    ", name, defs[name], i == len(names)-1); err != nil {
			return nil, err
		}
	}
	b.WriteString("  }\n}\n")
	return b.Bytes(), nil
}
