//go:build systematic && simulate

package simulate_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/harness/simulate"
)

const page = "../../docs/simulation.md"

// TestTableOfDocs checks that the accuracy in docs/simulation.md is the computed one.
func TestTableOfDocs(t *testing.T) {
	exact(t)
	all, err := outcomes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text, want := string(b), accuracyTable(all)
	_, begin, found := strings.Cut(text, "<!-- accuracy")
	_, begin, _ = strings.Cut(begin, "\n")
	got, _, ended := strings.Cut(begin, "<!-- end -->")
	if !found || !ended {
		t.Fatalf("%s has no table of accuracy", page)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s: the table of accuracy is\n%s\nand should be\n%s", page, got, want)
		return
	}
	if err := os.WriteFile(page, []byte(strings.Replace(text, got, want, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// accuracyTable returns a row for each machine, over all its sections.
func accuracyTable(all map[string][]simulate.Outcome) string {
	var b strings.Builder
	b.WriteString("| machine | its numbers | workers | points | typical | bias | worst | order |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range simulate.All {
		m, _ := simulate.Named(s.Machine)
		of := slices.DeleteFunc(slices.Clone(all[s.Machine]), func(o simulate.Outcome) bool { return simulate.TwinOf(o.Lock).Loose })
		sum := simulate.Summarize(of)
		least, most := of[0].Workers, of[0].Workers
		for _, o := range of {
			least, most = min(least, o.Workers), max(most, o.Workers)
		}
		fmt.Fprintf(&b, "| %s | %s | %d–%d | %d | %.2f | %.2f | %.2f (%s, %d) | %.2f of %d pairs |\n", s.Machine, m.Evidence, least, most,
			sum.Points, sum.Typical, sum.Bias, sum.Worst.Model/sum.Worst.NS, sum.Worst.Lock, sum.Worst.Workers, sum.Tau, sum.Pairs)
	}
	return b.String()
}

func counted(all []simulate.Outcome, section string) []simulate.Outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o simulate.Outcome) bool { return o.Section != section || simulate.TwinOf(o.Lock).Loose })
}
