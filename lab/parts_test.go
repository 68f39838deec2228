package lab

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPartsInMethodology(t *testing.T) {
	text := readFile(t, "../docs/methodology.md")
	_, rest, ok := strings.Cut(text, "| Part | Time | What is in it |\n|---|---|---|\n")
	if !ok {
		t.Fatal("docs/methodology.md has no table of the parts")
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(parts) {
		t.Fatalf("the table has %d rows, want %d:\n%s", len(rows), len(parts), table)
	}
	for i, p := range parts {
		if want := fmt.Sprintf("| %s | %v | ", p.name, p.time); !strings.HasPrefix(rows[i], want) {
			t.Errorf("row %d is %q, want %q", i, rows[i], want)
		}
	}
}

// TestDivide: every case is in one part with its share, no window is too short, and a resumed
// run has the same.
func TestDivide(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, budget := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
		o := optionsOf(t, "--budget="+budget.String())
		p := requirePlan(t, o)
		for _, c := range p.Cases {
			in := 0
			for _, part := range parts {
				if part.of(c) {
					in++
				}
			}
			if w := o.baseOf(c); in != 1 || w < minWindow || w > maxWindow {
				t.Errorf("%s is in %d parts, its window is of %v", c.Name(), in, w)
			}
		}
		measured := slices.DeleteFunc(slices.Clone(parts), func(t part) bool { return p.EstimateOf(t.of) == 0 })
		for _, part := range measured {
			got, want := p.EstimateOf(part.of), share(budget, part, measured)
			if enough := budget > 6*time.Minute; enough && (got < want*9/10 || got > want*11/10) {
				t.Errorf("of %v %s takes %v, want %v", budget, part.name, got, want)
			}
		}
		if got := p.Estimate(); got > budget {
			t.Errorf("a budget of %v gives a run of %v", budget, got)
		}
		again := optionsOf(t, "")
		q, err := again.plan()
		requireNoError(t, err)
		for _, part := range parts {
			if w, ok := o.windows(p)[part.name]; ok {
				again.setWindowsOf(q, part.of, w)
			}
		}
		for i := range p.Cases {
			if p.Cases[i].Workload != q.Cases[i].Workload {
				t.Errorf("resumed, %s lasts %v, and not %v", p.Cases[i].Name(), q.Cases[i].Workload.Window, p.Cases[i].Workload.Window)
			}
		}
	}
}
