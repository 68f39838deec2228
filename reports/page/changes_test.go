package page

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/synthetic"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func historyOf(runs []*result.Run) *judge.History {
	return must(judge.NewHistory(runs, judge.HistoryOptions{}))
}

func changedRuns() []*result.Run {
	zk := synthetic.Model{Lock: synthetic.Served("zk", harness.ZooKeeper, harness.KindZooKeeper), Rate: synthetic.Constant(800)}
	models := []synthetic.Model{zk}
	for _, name := range []string{"mcs", "ticket", "same", "gone", "wanted", "tas"} {
		models = append(models, synthetic.Fast(name, 1e6))
	}
	runs := synthetic.Days("a", 2, 2, 10, []int{1, 8}, models, func(day int, lock string) float64 {
		return 1 + float64(day)*map[string]float64{"mcs": -0.2, "ticket": 0.2}[lock]
	})
	next := runs[1]
	next.Manifest.Cases = 10
	next.Manifest.Skipped = []result.Skip{{Lock: "wanted", Reason: "no server"}}
	next.Results = slices.DeleteFunc(next.Results, func(r *result.Result) bool { return r.Lock.Name == "wanted" || r.Lock.Name == "gone" })
	for _, r := range next.Results {
		if r.Lock.Name == "tas" && r.Round == 3 {
			r.Violations = []oracle.Violation{{Rule: "exclusion", Detail: "2 of 9 increments lost", Count: 2}}
		}
	}
	return runs
}

func comparisonOf(runs []*result.Run) *judge.Comparison {
	return must(judge.Compare(runs[0], runs[1], judge.CompareOptions{Metrics: []*result.Metric{result.Throughput, result.P99}}))
}

// TestChanges: every form has each case; the JSON tables follow the schema.
func TestChanges(t *testing.T) {
	schema := schemaOf(t, "#/$defs/table")
	c, h := comparisonOf(changedRuns()), historyOf(synthetic.TwoMachines())
	for name, x := range map[string]struct {
		*Changes
		tables []judge.Table
	}{"comparison": {CompareChanges(c), c.Tables()}, "history": {HistoryChanges(h, false), h.Tables()}, "every run": {HistoryChanges(h, true), h.Tables()}} {
		forms := make(map[string]string)
		for _, format := range ChangesFormats {
			forms[format] = writtenBy(t, func(w io.Writer) error { return x.Write(w, format, 100) })
		}
		cells := 0
		for _, table := range x.tables {
			cells += len(table.Columns) * len(table.Rows)
			for _, row := range table.Rows {
				for format, text := range forms {
					if planned(row.Case.Verdict) && (!strings.Contains(text, row.Lock) || !strings.Contains(text, string(row.Case.Verdict))) {
						t.Errorf("%s: the %s lacks %s, %s", name, format, row.Lock, row.Case.Verdict)
					}
				}
			}
		}
		for line := range strings.Lines(forms["text"]) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		if lines, err := csv.NewReader(strings.NewReader(forms["csv"])).ReadAll(); err != nil || len(lines) != 1+cells {
			t.Errorf("%s: %d lines of CSV, want %d: %v", name, len(lines), 1+cells, err)
		}
		top := must(jsonschema.UnmarshalJSON(strings.NewReader(forms["json"]))).(map[string]any)
		for _, table := range top["tables"].([]any) {
			if err := schema.Validate(table); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, listed := top["gaps"].([]any)
		if top["outcome"] != "regressed" || top["warnings"] == nil || listed != (name == "comparison") || len(top["machines"].([]any)) == 0 {
			t.Errorf("%s: outcome %v, warnings %v, gaps %v, machines %v", name, top["outcome"], top["warnings"], top["gaps"], top["machines"])
		}
	}
	if err := CompareChanges(c).Write(io.Discard, "xml", 100); err == nil {
		t.Error("XML was written")
	}
}

func TestRemedies(t *testing.T) {
	for _, pair := range []string{"", "p"} {
		runs := changedRuns()
		runs[0].Manifest.Pair, runs[1].Manifest.Pair = pair, pair
		text := writtenBy(t, func(w io.Writer) error { return CompareChanges(comparisonOf(runs)).Write(w, "text", 400) })
		if strings.Contains(text, "--resume") != (pair == "") || strings.Contains(text, "Measure both builds again.") != (pair != "") {
			t.Errorf("pair %q:\n%s", pair, text)
		}
	}
}

func TestSpreadsheet(t *testing.T) {
	c := comparisonOf(changedRuns())
	c.Rows[0].Lock.Name, c.Rows[0].Points[1].Gap, c.Rows[0].Points[1].Before.Hi = "=HYPERLINK(\"http://x\")", "|calc", math.Inf(1)
	text := writtenBy(t, func(w io.Writer) error { return CompareChanges(c).Write(w, "csv", 0) })
	for _, line := range must(csv.NewReader(strings.NewReader(text)).ReadAll()) {
		for _, cell := range line {
			if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "|") || strings.Contains(cell, "Inf") || strings.Contains(cell, "NaN") {
				t.Errorf("a cell is %q", cell)
			}
		}
	}
}
