package result_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/harness"
	"locklab/harness/result"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(result.JSONSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource("results.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("results.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, line []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaAccepts(t *testing.T) {
	s := compileSchema(t)
	names, err := filepath.Glob("../../reports/testdata/*/results.jsonl")
	if err != nil || len(names) < 2 {
		t.Fatalf("found the runs %v (%v)", names, err)
	}
	kinds := make(map[string]int)
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for n := 1; lines.Scan(); n++ {
			if err := validate(t, s, lines.Bytes()); err != nil {
				t.Errorf("%s:%d: %v", name, n, err)
			}
			var h struct{ Kind string }
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				t.Fatal(err)
			}
			kinds[h.Kind]++
		}
	}
	for _, line := range records(t) {
		if err := validate(t, s, line); err != nil {
			t.Errorf("%.60s: %v", line, err)
		}
	}
	if kinds["case"] == 0 || kinds["experiment"] == 0 {
		t.Errorf("the files hold %v", kinds)
	}
}

func records(t *testing.T) (lines [][]byte) {
	t.Helper()
	add := func(line []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	now := time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC)
	full := &harness.Result{Lock: harness.Lock{Name: "mcs", Family: harness.Spin}, Workload: harness.Workload{Workers: 1, Window: 1}, Started: now}
	fill(reflect.ValueOf(full).Elem())
	full.Overlap, full.Workload.Reads, full.Lock.Status = 0.5, 90, harness.Correct
	full.Wait, full.Handover = harness.Histogram{{Value: 7, N: 1}}, harness.Histogram{{Value: 9, N: 2}}
	add(result.Encode(result.Record{Result: full}))
	add(result.Encode(result.Record{Result: &harness.Result{Lock: harness.Lock{Name: "x", Status: harness.Broken}, Workload: harness.Workload{Workers: 1, Window: 1}}}))
	found := new(harness.Finding)
	fill(reflect.ValueOf(found).Elem())
	found.Tables[0].Chart = harness.Heat
	add(result.Encode(result.Record{Finding: found}))
	add(result.Encode(result.Record{Finding: &harness.Finding{Name: "x", Tables: []harness.Table{{Rows: []harness.Row{{}}}}}}))
	add(result.Encode(result.Record{Sample: &harness.Sample{Experiment: "x", Key: "k", Values: []float64{1.5}}}))
	fault := new(harness.FaultResult)
	fill(reflect.ValueOf(fault).Elem())
	fault.Lock.Status, fault.Tests, fault.Expected.Harms, fault.Aims[0].Quantile = harness.Correct, harness.Guarantees, harness.Harms, 0.5
	fault.Together[0].Harms = harness.Harms
	fault.Seen = make(map[harness.Harm]int)
	for i, h := range harness.Harms {
		fault.Seen[h] = i
	}
	add(result.Encode(result.Record{Fault: fault}))
	add(result.Encode(result.Record{Fault: &harness.FaultResult{Scenario: "x", Lock: harness.Lock{Name: "x"}}}))
	simulated := new(harness.Simulation)
	fill(reflect.ValueOf(simulated).Elem())
	simulated.Lock.Status = harness.Correct
	one := harness.Expected{Median: 1, Lo: 1, Hi: 1}
	simulated.SameSocket, simulated.SameWorker, simulated.Jain = one, one, one
	add(result.Encode(result.Record{Simulation: simulated}))
	add(result.Encode(result.Record{Simulation: &harness.Simulation{Simulated: "x", Sockets: 1, Clusters: 1, Cores: 1, SMT: 1, Workers: 1, Seeds: 1,
		Lock: harness.Lock{Name: "x"}, PerAcquisition: one}}))
	add(result.Encode(result.Record{Machine: &harness.ModelMachine{Name: "x", Hypothetical: true, File: []byte("{}")}}))
	return lines
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.CanSet() && v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(1)
	}
}

func TestSchemaRejects(t *testing.T) {
	s := compileSchema(t)
	lines := records(t)
	broken := 0
	for _, line := range lines {
		var doc map[string]any
		if err := json.Unmarshal(line, &doc); err != nil {
			t.Fatal(err)
		}
		for _, b := range breaks(doc) {
			text, err := json.Marshal(b.doc)
			if err != nil {
				t.Fatal(err)
			}
			if validate(t, s, text) == nil {
				t.Errorf("accepts %s: %.200s", b.what, text)
			}
			broken++
		}
	}
	if broken < 100 {
		t.Errorf("only %d broken lines were made", broken)
	}
	for _, text := range []string{`{}`, `[]`, `1`, `{"schema":1,"kind":"dream"}`, `{"schema":2,"kind":"sample","experiment":"x","key":"k","values":[]}`} {
		if validate(t, s, []byte(text)) == nil {
			t.Errorf("accepts %s", text)
		}
	}
}

type broken struct {
	what string
	doc  map[string]any
}

func breaks(doc map[string]any) (out []broken) {
	with := func(key string, value any) map[string]any {
		c := maps.Clone(doc)
		c[key] = value
		return c
	}
	out = append(out, broken{"an unknown field", with("nonsense", 1)})
	for key, value := range doc {
		switch v := value.(type) {
		case map[string]any:
			if key == "file" { // of a machine: any object
				out = append(out, broken{key + " as text", with(key, "x")})
				continue
			}
			for _, b := range breaks(v) {
				out = append(out, broken{b.what + " in " + key, with(key, b.doc)})
			}
			out = append(out, broken{key + " as text", with(key, "x")})
		case string:
			out = append(out, broken{key + " as a number", with(key, 7)})
		case float64:
			out = append(out, broken{key + " as text", with(key, "7")})
			if !slices.Contains([]string{"median", "lo", "hi", "x", "limit"}, key) {
				out = append(out, broken{key + " below zero", with(key, -2)}) // -1 may stand for unknown
			}
		case bool:
			out = append(out, broken{key + " as a number", with(key, 1)})
		case []any:
			out = append(out, broken{key + " as text", with(key, "x")})
			if len(v) > 0 {
				out = append(out, broken{key + " of lists", with(key, []any{[]any{}})})
			}
		}
	}
	return out
}

func TestSchemaIsWhole(t *testing.T) {
	var schema struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(result.JSONSchema, &schema); err != nil {
		t.Fatal(err)
	}
	for def, c := range map[string]struct {
		of    reflect.Type
		extra []string // fields of the line that the type does not write
	}{
		"case":       {reflect.TypeFor[harness.Result](), []string{"schema", "kind", "wait", "handover", "handover_wait", "owners", "slice", "slices", "holds"}},
		"experiment": {reflect.TypeFor[harness.Finding](), []string{"schema", "kind"}},
		"sample":     {reflect.TypeFor[harness.Sample](), []string{"schema", "kind"}},
		"rank":       {of: reflect.TypeFor[harness.Rank]()},
		"lock":       {of: reflect.TypeFor[harness.Lock]()},
		"traits":     {of: reflect.TypeFor[harness.Traits]()},
		"workload":   {of: reflect.TypeFor[harness.Workload]()},
		"span":       {of: reflect.TypeFor[harness.Span]()},
		"spans":      {of: reflect.TypeFor[harness.Spans]()},
		"cpu":        {of: reflect.TypeFor[harness.CPU]()},
		"wire":       {of: reflect.TypeFor[harness.Counts]()},
		"violation":  {of: reflect.TypeFor[harness.Violation]()},
		"warning":    {of: reflect.TypeFor[harness.Warning]()},
		"table":      {of: reflect.TypeFor[harness.Table]()},
		"column":     {of: reflect.TypeFor[harness.Column]()},
		"row":        {of: reflect.TypeFor[harness.Row]()},
		"cell":       {of: reflect.TypeFor[harness.Cell]()},

		"chaos":        {reflect.TypeFor[harness.FaultResult](), []string{"schema", "kind"}},
		"simulation":   {reflect.TypeFor[harness.Simulation](), []string{"schema", "kind"}},
		"machine":      {reflect.TypeFor[harness.ModelMachine](), []string{"schema", "kind"}},
		"expected":     {of: reflect.TypeFor[harness.Expected]()},
		"expectation":  {of: reflect.TypeFor[harness.Expectation]()},
		"fault_figure": {of: reflect.TypeFor[harness.FaultFigure]()},
		"aim":          {of: reflect.TypeFor[harness.FaultAim]()},
	} {
		want := c.extra
		for i := range c.of.NumField() {
			if name, _, _ := strings.Cut(c.of.Field(i).Tag.Get("json"), ","); name != "-" {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		var got []string
		for name := range schema.Defs[def].Properties {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("results.schema.json knows of %s the fields\n%v, a line has\n%v", def, got, want)
		}
	}
}
