package chart

import (
	"cmp"
	"fmt"
	"strings"

	"locklab/harness/result"
)

// Stopped is the note on an experiment that ended early.
const Stopped = "Interrupted: the figures are of what was finished."

// Slug returns a suitable name of f, number i of the run, for an address or file name.
func Slug(f *result.Finding, i int) string {
	if !NameRE.MatchString(f.Name) || len(f.Name) > 60 {
		return fmt.Sprintf("finding-%d", i+1)
	}
	return f.Name
}

func Title(f *result.Finding) string {
	return cmp.Or(f.Question, f.Name, "An experiment without a question")
}

func Answer(f *result.Finding) string { return cmp.Or(f.Answer, "The experiment gave no answer.") }

// FindingCharts returns every table of the findings of run. A drawn table has a name that is
// unique also in the Suite: the experiment's, with "-2" and so on for further ones.
func FindingCharts(run *result.Run) (out []Named) {
	taken := make(map[string]bool)
	for _, c := range Suite {
		taken[c.Name] = true
	}
	for i, f := range run.Findings {
		n := 0
		for k, t := range f.Tables {
			c := Named{Title: cmp.Or(t.Caption, "Figures"), Finding: f}
			if t.Chart != result.NoChart {
				n++
				if c.Name = Slug(f, i); n > 1 {
					c.Name = fmt.Sprintf("%s-%d", c.Name, n)
				}
				for taken[c.Name] {
					c.Name = "hardware-" + c.Name
				}
				taken[c.Name] = true
				c.Pic, c.Doc = DrawTable(t)
			}
			if c.Pic.Height > 0 {
				c.Pic.Answer = Answer(f)
			}
			c.Pic.Data = Source{Experiments: []string{cmp.Or(f.Name, "without a name")}, Table: k + 1}
			c.Pic.Numbers = tableNumbers(t)
			out = append(out, c)
		}
	}
	return out
}

func tableNumbers(t result.Table) Table {
	heads := []string{t.Label}
	for _, c := range t.Columns {
		heads = append(heads, strings.TrimSuffix(c.Name+", "+c.Unit, ", "))
	}
	out := Table{Head: Titles(heads...)}
	for _, r := range t.Rows {
		row := []string{r.Label}
		for j := range t.Columns { // a short row is filled up, a long one cut
			row = append(row, words(r, j))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
