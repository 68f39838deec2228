package result

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

	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema))
	requireNoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	requireNoError(t, c.AddResource("results.schema.json", doc))
	s, err := c.Compile("results.schema.json")
	requireNoError(t, err)
	return s
}

func validateLine(t *testing.T, s *jsonschema.Schema, line []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	requireNoError(t, err)
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
		requireNoError(t, err)
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for n := 1; lines.Scan(); n++ {
			if err := validateLine(t, s, lines.Bytes()); err != nil {
				t.Errorf("%s:%d: %v", name, n, err)
			}
			var h struct{ Kind string }
			requireNoError(t, json.Unmarshal(lines.Bytes(), &h))
			kinds[h.Kind]++
		}
	}
	for _, line := range schemaLines(t) {
		if err := validateLine(t, s, line); err != nil {
			t.Errorf("%.60s: %v", line, err)
		}
	}
	if kinds["case"] == 0 || kinds["experiment"] == 0 {
		t.Errorf("the files hold %v", kinds)
	}
}

// schemaLines returns a line of each kind with all fields, and one with few.
func schemaLines(t *testing.T) (lines [][]byte) {
	full, f, simulated := sample(), fault(), simulation()
	full.Lock.Status, full.Workload.Reads, f.Lock.Status, simulated.Lock.Status = harness.Historical, 90, harness.Control, harness.Broken
	f.Tests, f.Expected.Anomalies, f.Together[0].Anomalies, f.Seen = Guarantees, oracle.Anomalies, oracle.Anomalies, make(map[oracle.Anomaly]int)
	for i, h := range oracle.Anomalies {
		f.Seen[h] = i
	}
	one := Expected{Median: 1, Lo: 1, Hi: 1}
	for _, rec := range []Record{
		{Result: full}, {Finding: finding()}, {Sample: &Sample{Experiment: "x", Key: "k", Values: []float64{1.5}}}, {Fault: f}, {Simulation: simulated},
		{Machine: &ModelMachine{Name: "x", Hypothetical: true, File: []byte("{}")}},
		{Result: &Result{Lock: Lock{Name: "x"}, Workload: harness.Workload{Workers: 1, Window: 1}}},
		{Finding: &Finding{Name: "x", Tables: []Table{{Rows: []Row{{}}}}}},
		{Fault: &FaultResult{Scenario: "x", Lock: Lock{Name: "x"}}},
		{Simulation: &Simulation{Simulated: "x", Sockets: 1, Clusters: 1, Cores: 1, SMT: 1, Workers: 1, Seeds: 1, Lock: Lock{Name: "x"}, PerAcquisition: one}},
	} {
		lines = append(lines, encodeRecord(t, rec))
	}
	return lines
}

func TestSchemaRejects(t *testing.T) {
	s := compileSchema(t)
	lines := schemaLines(t)
	broken := 0
	for _, line := range lines {
		var doc map[string]any
		requireNoError(t, json.Unmarshal(line, &doc))
		for _, b := range breakFields(doc) {
			text, err := json.Marshal(b.doc)
			requireNoError(t, err)
			if validateLine(t, s, text) == nil {
				t.Errorf("accepts %s: %.200s", b.what, text)
			}
			broken++
		}
	}
	if broken < 100 {
		t.Errorf("only %d broken lines were made", broken)
	}
	for _, text := range []string{`{}`, `[]`, `1`, `{"schema":1,"kind":"dream"}`, `{"schema":2,"kind":"sample","experiment":"x","key":"k","values":[]}`} {
		if validateLine(t, s, []byte(text)) == nil {
			t.Errorf("accepts %s", text)
		}
	}
}

type brokenLine struct {
	what string
	doc  map[string]any
}

func breakFields(doc map[string]any) (out []brokenLine) {
	with := func(key string, value any) map[string]any {
		c := maps.Clone(doc)
		c[key] = value
		return c
	}
	out = append(out, brokenLine{"an unknown field", with("nonsense", 1)})
	for key, value := range doc {
		switch v := value.(type) {
		case map[string]any:
			if key == "file" { // of a machine: any object
				out = append(out, brokenLine{key + " as text", with(key, "x")})
				continue
			}
			for _, b := range breakFields(v) {
				out = append(out, brokenLine{b.what + " in " + key, with(key, b.doc)})
			}
			out = append(out, brokenLine{key + " as text", with(key, "x")})
		case string:
			out = append(out, brokenLine{key + " as a number", with(key, 7)})
		case float64:
			out = append(out, brokenLine{key + " as text", with(key, "7")})
			if !slices.Contains([]string{"median", "lo", "hi", "x", "limit"}, key) {
				out = append(out, brokenLine{key + " below zero", with(key, -2)}) // -1 may stand for unknown
			}
		case bool:
			out = append(out, brokenLine{key + " as a number", with(key, 1)})
		case []any:
			out = append(out, brokenLine{key + " as text", with(key, "x")})
			if len(v) > 0 {
				out = append(out, brokenLine{key + " of lists", with(key, []any{[]any{}})})
			}
		}
	}
	return out
}

func TestSchemaIsWhole(t *testing.T) {
	var schema struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	requireNoError(t, json.Unmarshal(JSONSchema, &schema))
	for def, c := range map[string]struct {
		of    reflect.Type
		extra []string // fields of the line that the type does not write
	}{
		"case":       {reflect.TypeFor[Result](), []string{"schema", "kind", "wait", "handover", "handover_wait", "owners", "bucket", "bucket_counts", "holds"}},
		"experiment": {reflect.TypeFor[Finding](), []string{"schema", "kind"}},
		"sample":     {reflect.TypeFor[Sample](), []string{"schema", "kind"}},
		"rank":       {of: reflect.TypeFor[Rank]()},
		"lock":       {of: reflect.TypeFor[Lock]()},
		"traits":     {of: reflect.TypeFor[harness.Traits]()},
		"workload":   {of: reflect.TypeFor[harness.Workload]()},
		"span":       {of: reflect.TypeFor[harness.Span]()},
		"spans":      {of: reflect.TypeFor[Spans]()},
		"cpu":        {of: reflect.TypeFor[ClientCost]()},
		"wire":       {of: reflect.TypeFor[harness.Counts]()},
		"violation":  {of: reflect.TypeFor[oracle.Violation]()},
		"warning":    {of: reflect.TypeFor[machine.Warning]()},
		"table":      {of: reflect.TypeFor[Table]()},
		"column":     {of: reflect.TypeFor[Column]()},
		"row":        {of: reflect.TypeFor[Row]()},
		"cell":       {of: reflect.TypeFor[Cell]()},

		"chaos":        {reflect.TypeFor[FaultResult](), []string{"schema", "kind"}},
		"simulation":   {reflect.TypeFor[Simulation](), []string{"schema", "kind"}},
		"machine":      {reflect.TypeFor[ModelMachine](), []string{"schema", "kind"}},
		"expected":     {of: reflect.TypeFor[Expected]()},
		"expectation":  {of: reflect.TypeFor[Expectation]()},
		"fault_figure": {of: reflect.TypeFor[FaultFigure]()},
		"aim":          {of: reflect.TypeFor[FaultAim]()},
	} {
		want := c.extra
		for i := range c.of.NumField() {
			if name, _, _ := strings.Cut(c.of.Field(i).Tag.Get("json"), ","); name != "-" {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(schema.Defs[def].Properties)); !slices.Equal(got, want) {
			t.Errorf("results.schema.json knows of %s the fields\n%v, a line has\n%v", def, got, want)
		}
	}
}
