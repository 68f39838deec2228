//go:build systematic && simulate

package validate_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/harness/simulate"
	"locklab/harness/simulate/validate"
)

const page = "../../../docs/simulation.md"

func TestTablesOfDocs(t *testing.T) {
	exact(t)
	all, err := outcomes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, want := range map[string]string{"accuracy": accuracyTable(all), "machines": machineTable()} {
		begin := strings.Index(text, "<!-- "+name)
		if begin < 0 {
			t.Fatalf("%s has no table of %s", page, name)
		}
		begin += strings.Index(text[begin:], "\n") + 1
		end := begin + strings.Index(text[begin:], "<!-- end -->")
		if text[begin:end] == want {
			continue
		}
		if !*update {
			t.Errorf("%s: the table of %s is\n%s\nand should be\n%s", page, name, text[begin:end], want)
		}
		text = text[:begin] + want + text[end:]
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func accuracyTable(all map[string][]validate.Outcome) string {
	var b strings.Builder
	b.WriteString("| machine | its numbers | section | workers | points | typical | bias | worst | order |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range validate.All {
		m, _ := simulate.Named(s.Machine)
		for _, section := range sections(all[s.Machine]) {
			of := counted(all[s.Machine], section)
			sum := validate.Summarize(of)
			least, most := of[0].Workers, of[0].Workers
			for _, o := range of {
				least, most = min(least, o.Workers), max(most, o.Workers)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d–%d | %d | %.2f | %.2f | %.2f (%s, %d) | %.2f of %d pairs |\n", s.Machine, m.Evidence, section, least, most,
				sum.Points, sum.Typical, sum.Bias, sum.Worst.Model/sum.Worst.NS, sum.Worst.Lock, sum.Worst.Workers, sum.Tau, sum.Pairs)
		}
	}
	return b.String()
}

func machineTable() string {
	var b strings.Builder
	b.WriteString("| machine | sockets × clusters × cores × threads | evidence | what it is modelled on |\n|---|---|---|---|\n")
	for _, m := range simulate.List() {
		evidence := m.Evidence
		if m.Hypothetical {
			evidence = "**hypothetical**"
		}
		fmt.Fprintf(&b, "| %s | %d × %d × %d × %d | %s | %s |\n", m.Name, m.Sockets, m.Clusters, m.Cores, m.SMT, evidence, m.Doc)
	}
	return b.String()
}

func counted(all []validate.Outcome, section string) []validate.Outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o validate.Outcome) bool { return o.Section != section || validate.Loose(o.Lock) })
}
