package page

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func schemaOf(t *testing.T, part string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.schema.json", must(jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema)))); err != nil {
		t.Fatal(err)
	}
	return must(c.Compile("report.schema.json" + part))
}

func jsonOf(t *testing.T, run *result.Run) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return WriteJSON(w, run) })
}

func TestJSON(t *testing.T) {
	s := schemaOf(t, "")
	golden := must(result.Load(goldenRun))
	all := everything()
	all.Faults = synthetic.Faults()
	stuck := synthetic.Run(1, 9, 2, []int{2}, synthetic.Fast("sync-mutex", 1e6), synthetic.Fast("a", 0))
	for name, run := range map[string]*result.Run{
		"golden": golden, "everything": all, "nothing": {}, "three rounds": synthetic.Zoo(3), "zero rates": stuck,
		"a broken lock": synthetic.Run(1, 9, 2, []int{1, 2}, synthetic.Fast("sync-mutex", 1e6), synthetic.With(synthetic.Fast("b", 1e6), breaking)),
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(jsonOf(t, run)))
		if err == nil {
			err = s.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var got jsonReport
	if err := json.Unmarshal([]byte(jsonOf(t, all)), &struct {
		Headline   *string
		Guarantees *[]jsonGuarantee
	}{&got.Headline, &got.Guarantees}); err != nil {
		t.Fatal(err)
	}
	if got.Headline != headlineOf(all) || len(got.Guarantees) == 0 || got.Guarantees[0].Tries == 0 {
		t.Errorf("got %q and %d guarantees", got.Headline, len(got.Guarantees))
	}
}

func TestJSONSchemaRejects(t *testing.T) {
	s := schemaOf(t, "")
	text := jsonOf(t, synthetic.Zoo(10))
	for _, damage := range [][2]string{
		{`"rule": "no default"`, `"rule": "whim"`}, {`"reading": "slower"`, `"reading": "slow"`}, {`"schema": 1`, `"schema": 2`},
		{`"rounds": 10`, `"rounds": -1`}, {`"workers": 1`, `"workers": 0`}, {`"headline": `, `"leadline": `}, {`"grade": "`, `"grade": "very `},
	} {
		broken := strings.Replace(text, damage[0], damage[1], 1)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
		if err != nil || broken == text || s.Validate(doc) == nil {
			t.Errorf("%s by %s: it was not noticed, or is not there (%v)", damage[0], damage[1], err)
		}
	}
}
