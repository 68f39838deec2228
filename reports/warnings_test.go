package reports

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
)

// TestWarnings: a warning keeps its kind, wherever in the run it is; one of a kind
// that nobody can name is of the kind "other".
func TestWarnings(t *testing.T) {
	noise := func(text string) harness.Warning { return harness.Warning{Text: text, Kind: "steal"} }
	run := &resultfile.Run{
		Manifest: resultfile.Manifest{Warnings: []harness.Warning{{Text: "a guest", Kind: "guest"}, {Text: "of an older lab"}}},
		Results: []*harness.Result{
			{Warnings: []harness.Warning{noise("the host took 3 %")}},
			{Warnings: []harness.Warning{noise("the host took 5 %"), {Text: "new", Kind: "of-a-newer-lab"}}},
		},
		Findings: []*harness.Finding{{Name: "experiment", Warnings: []harness.Warning{{Text: "hot", Kind: "heat"}}}},
	}
	var kinds []string
	for _, w := range Warnings(run) {
		kinds = append(kinds, w.Kind)
		if !slices.Contains(WarningKinds(), w.Kind) {
			t.Errorf("%q is of the kind %q, which there is not", w.Text, w.Kind)
		}
	}
	slices.Sort(kinds)
	if want := []string{"guest", "heat", "other", "other", "steal"}; !slices.Equal(kinds, want) {
		t.Errorf("got the kinds %v, want %v", kinds, want)
	}
	if ws := Warnings(new(resultfile.Run)); ws != nil {
		t.Errorf("nothing warns of %v", ws)
	}
}
