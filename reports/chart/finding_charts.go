package chart

import (
	"fmt"

	"locklab/harness"
	"locklab/harness/result"
)

// A FindingChart is a table to draw, with its name.
type FindingChart struct {
	Name    string
	Finding *harness.Finding
	Table   harness.Table
	Number  int // of the table in the finding, from 1
}

// FindingCharts returns the names of the drawable hardware charts of run, for [WritePNG] and
// [WriteSVG]: the experiment's, with "-2" and so on for further ones.
func FindingCharts(run *result.Run) (names []string) {
	for _, c := range TableCharts(Sanitize(run)) {
		if pic, _ := DrawTable(c.Table); pic.Height > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// TableCharts lists the tables of run to draw, with names unique also in the Suite.
func TableCharts(run *result.Run) (out []FindingChart) {
	taken := make(map[string]bool)
	for _, c := range Suite {
		taken[c.Name] = true
	}
	for i, f := range Findings(run) {
		n := 0
		for k, t := range f.Tables {
			if t.Chart == harness.NoChart {
				continue
			}
			n++
			name := Slug(f, i)
			if n > 1 {
				name = fmt.Sprintf("%s-%d", name, n)
			}
			for taken[name] {
				name = "hardware-" + name
			}
			taken[name] = true
			out = append(out, FindingChart{name, f, t, k + 1})
		}
	}
	return out
}
