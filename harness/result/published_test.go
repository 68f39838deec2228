package result

import (
	"bytes"
	"strings"
	"testing"

	"locklab/harness"
)

func TestPublished(t *testing.T) {
	run := &Run{Manifest: Manifest{Commit: "abc"}, Faults: []*harness.FaultResult{
		{Scenario: "holder-pause", Lock: harness.Lock{Name: "a"}, Tries: 60, Seen: map[harness.Harm]int{harness.StaleWrite: 7}},
		{Scenario: "skipped", Lock: harness.Lock{Name: "a"}, Skipped: "no"},
		{Scenario: "leader-killed", Lock: harness.Lock{Name: "b"}, Tries: 3},
	}}
	var out bytes.Buffer
	if err := WritePublished(&out, run); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPublished(bytes.NewReader(out.Bytes()))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d rows, %v of\n%s", len(got), err, out.String())
	}
	if f := got[0]; f.Scenario != "holder-pause" || f.Lock.Name != "a" || f.Tries != 60 || f.Published != 60 || f.Seen[harness.StaleWrite] != 7 || len(f.Seen) != 1 {
		t.Errorf("read back %+v", f)
	}
	text := out.String()
	for name, damaged := range map[string]string{
		"empty":       "",
		"other head":  strings.Replace(text, "scenario,", "scene,", 1),
		"no number":   strings.Replace(text, ",60,", ",many,", 1),
		"more harms":  strings.Replace(text, ",60,0,7", ",60,0,61", 1),
		"no tries":    strings.Replace(text, ",3,", ",0,", 1),
		"a short row": text + "x,y,1\n",
	} {
		if _, err := ReadPublished(strings.NewReader(damaged)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
