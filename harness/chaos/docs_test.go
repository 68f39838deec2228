package chaos_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/oracle"
)

var quoted = regexp.MustCompile("`([a-z0-9-]+)`")

func named(cell string) (out []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestTablesOfAnomaly compares docs/failures.md with the expectations of the scenarios.
func TestTablesOfAnomaly(t *testing.T) {
	text, err := os.ReadFile("../../docs/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	columns, hazards, rows := 0, make(map[string]bool), 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " |")
		switch {
		case strings.HasSuffix(strings.TrimSpace(line), "| Scenario | Fails |"):
			columns = len(cells)
			continue
		case !strings.HasPrefix(line, "|"):
			columns = 0
			continue
		case columns == 0 || strings.HasPrefix(line, "|---"):
			continue
		}
		if len(cells) != columns {
			t.Errorf("%d columns, want %d: %s", len(cells), columns, line)
			continue
		}
		rows++
		hazards[strings.TrimSpace(cells[0])] = true
		scenarios := named(cells[columns-2])
		if len(scenarios) == 0 && !strings.Contains(cells[columns-2], "none: ") {
			t.Errorf("no scenario: %s", line)
		}
		failing := named(cells[columns-1])
		for _, name := range failing {
			if !known(name) {
				t.Errorf("%q is no lock and no scenario: %s", name, line)
			}
		}
		least := anomaliesOf(t, scenarios, failing)
		for _, name := range failing {
			if len(least[name]) == 0 {
				t.Errorf("%v are not expected to harm %s: %s", scenarios, name, line)
			}
		}
	}
	for i := range 25 {
		if name := fmt.Sprintf("B%d", i+1); !hazards[name] {
			t.Errorf("the table lacks hazard %s", name)
		}
	}
	if rows < 25+14 {
		t.Errorf("%d rows", rows)
	}
}

func known(name string) bool {
	return slices.ContainsFunc(chaos.Suite, func(s *chaos.Scenario) bool { return s.Name == name }) ||
		slices.ContainsFunc(catalog.All(), func(v *harness.Variant) bool { return v.Name == name })
}

func anomaliesOf(t *testing.T, scenarios, locks []string) map[string][]oracle.Anomaly {
	out := make(map[string][]oracle.Anomaly)
	for _, name := range scenarios {
		i := slices.IndexFunc(chaos.Suite, func(s *chaos.Scenario) bool { return s.Name == name })
		if i < 0 {
			t.Errorf("there is no scenario %q", name)
			continue
		}
		for _, v := range catalog.All() {
			if slices.Contains(locks, v.Name) && chaos.Suite[i].Applies(v.Describe()) {
				out[v.Name] = append(out[v.Name], chaos.Suite[i].Expected(v.Name).Anomalies...)
			}
		}
	}
	return out
}
