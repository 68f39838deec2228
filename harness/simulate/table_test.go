//go:build systematic && simulate

package simulate_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

var update = flag.Bool("update", false, "write accuracy.json and the table of docs/simulation.md")

type bound struct {
	machine, section string
	typical          float64 // at most
	worst            float64 // factor to either side, at most
	tau              float64 // at least
}

// bounds are slightly wider than the model's current errors, in the order of the table.
var bounds = []bound{
	{"broadwell-2x10", "0/0", 1.27, 1.73, 0.83},
	{"broadwell-2x10", "200/1000", 1.28, 1.94, 0.95},
	{"broadwell-2x10", "1000/0", 1.16, 1.33, 0.95},
	{"broadwell-2x22", "0/0", 1.17, 1.55, 0.85},
	{"broadwell-2x22", "200/1000", 1.29, 1.83, 0.95},
	{"broadwell-2x22", "1000/0", 1.33, 2.02, 0.65},
	{"skylake-24", "0/0", 1.12, 1.41, 0.95},
	{"skylake-24", "200/1000", 1.09, 1.18, 0.95},
	{"skylake-24", "1000/0", 1.15, 1.48, 0.51},
	{"naples-32", "0/0", 1.43, 2.10, 0.69},
	{"naples-32", "200/1000", 1.30, 1.62, 0.83},
	{"naples-32", "1000/0", 1.17, 1.50, 0.83},
	{"haswell-2x12", "0/0", 1.49, 2.30, 0.39},
	{"graviton2-64", "0/0", 1.49, 1.87, 0.48},
}

// TestTable fails if the model's errors against published measurements have grown. If all
// machines are simulated, it also compares accuracy.json and the table of docs/simulation.md
// with them, but only on amd64: if x*y+z is one instruction, the last digits differ.
func TestTable(t *testing.T) {
	var records []simulate.ValidationRecord
	table := "| machine | its numbers | workers | points | typical | bias | worst | order |\n|---|---|---|---|---|---|---|---|\n"
	for _, s := range published {
		m := named(t, s.machine)
		if testing.Short() && m.Evidence == simulate.Fitted {
			continue
		}
		all := slices.DeleteFunc(s.simulate(t, *m, nil), func(o outcome) bool { return twins[o.lock].loose })
		bounded := 0
		for _, b := range bounds {
			if of := filter(all, func(o outcome) bool { return o.section == b.section }); b.machine == s.machine && len(of) > 0 {
				bounded += len(of)
				b.check(t, of)
			}
		}
		if bounded != len(all) {
			t.Errorf("%s: %d of %d points have a bound", s.machine, bounded, len(all))
		}
		records = append(records, record(s.machine, "", all))
		for _, lock := range []string{"tas-xchg", "ttas", "ticket"} {
			if like := filter(all, func(o outcome) bool { return twins[o.lock].like == lock }); len(like) > 0 {
				records = append(records, record(s.machine, lock, like))
			}
		}
		sum, r := summarize(all), record(s.machine, "", all)
		table += fmt.Sprintf("| %s | %s | %d–%d | %d | %.2f | %.2f | %.2f (%s, %d) | %.2f of %d pairs |\n", s.machine, m.Evidence, r.From, r.To,
			r.Points, r.Typical, sum.bias, sum.worst.ratio(), sum.worst.lock, sum.worst.workers, sum.tau, sum.pairs)
	}
	if testing.Short() || runtime.GOARCH != "amd64" {
		return
	}
	requireText(t, "../../docs/simulation.md", "<!-- accuracy: written by go test ./harness/simulate -update -->\n", table, "<!-- end -->")
	var lines []string
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	requireText(t, "accuracy.json", "[\n", strings.Join(lines, ",\n"), "\n]\n")
}

func (b bound) check(t *testing.T, all []outcome) {
	t.Helper()
	sum := summarize(all)
	worst := max(sum.worst.ratio(), 1/sum.worst.ratio())
	t.Logf("%-15s %-9s %3d points, typical %.3f, bias %.2f, worst %.2f (%s, %d), tau %.2f (%d)", b.machine, b.section, len(all), sum.typical, sum.bias,
		sum.worst.ratio(), sum.worst.lock, sum.worst.workers, sum.tau, sum.pairs)
	if sum.typical > b.typical || worst > b.worst || sum.tau < b.tau {
		t.Errorf("%s, %s: typical %.3f, worst %.3f, tau %.3f; the bounds are %.2f, %.2f, %.2f", b.machine, b.section, sum.typical, worst, sum.tau, b.typical, b.worst, b.tau)
	}
}

func filter(all []outcome, wanted func(outcome) bool) []outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return !wanted(o) })
}

func record(machine, lock string, all []outcome) simulate.ValidationRecord {
	round := func(x float64) float64 { return math.Round(100*x) / 100 }
	r := simulate.ValidationRecord{Machine: machine, Lock: lock, Points: len(all), From: math.MaxInt, Least: math.Inf(1)}
	for _, o := range all {
		r.From, r.To = min(r.From, o.workers), max(r.To, o.workers)
		r.Least, r.Most = min(r.Least, round(o.ratio())), max(r.Most, round(o.ratio()))
	}
	r.Typical = round(summarize(all).typical)
	return r
}

// requireText compares the text between two marks in a file with want. With -update, it
// writes want into the file.
func requireText(t *testing.T, file, begin, want, end string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), begin)
	got, _, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("%s does not have %q and %q", file, begin, end)
	case got == want:
	case !*update:
		t.Errorf("%s has\n%s\nand should have\n%s\nrun go test -tags systematic,simulate ./harness/simulate -update", file, got, want)
	default:
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), got, want, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEvidence(t *testing.T) {
	fitted, compared := map[string]bool{}, map[string]bool{}
	for _, f := range fits {
		fitted[f.machine] = true
	}
	for _, s := range published {
		compared[s.machine] = true
	}
	for _, m := range simulate.List() {
		want := simulate.LatenciesOnly
		switch {
		case fitted[m.Name]:
			want = simulate.Fitted
		case compared[m.Name]:
			want = simulate.HeldOut
		}
		if m.Evidence != want {
			t.Errorf("%s is %s, and should be %s", m.Name, m.Evidence, want)
		}
		for _, n := range []string{"window", "occupy"} {
			if says := strings.HasPrefix(m.Sources[n], "fitted"); says != fitted[m.Name] {
				t.Errorf("%s: %s: source %q", m.Name, n, m.Sources[n])
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	s := summarize([]outcome{{lock: "a", ns: 100, model: 200}, {lock: "b", ns: 200, model: 100}, {lock: "c", ns: 205, model: 50}, {lock: "d", ns: 400, model: 400}})
	// The logarithms are ln 2, -ln 2, -ln 4.1, 0. b and c are no pair. a and b, a and
	// c are the wrong way round, d is last in both.
	if got := fmt.Sprintf("%.3f %.3f %s %.1f of %d", s.typical, s.bias, s.worst.lock, s.tau, s.pairs); got != "2.361 0.703 c 0.2 of 5" {
		t.Error(got)
	}
}

// TestLabLocks compares locks of the lab with their twins: conclusions need similar behaviour.
func TestLabLocks(t *testing.T) {
	m := named(t, "broadwell-2x22")
	for _, c := range []struct {
		lock, twin string
		bound      float64 // factor to either side
	}{
		{"tas", "tas", 1.15},
		{"tas-xchg", "tas", 1.15},
		{"ttas", "ttas", 1.15},
		{"ticket", "ticket", 1.2},
		{"ticket", "ticket_spinlock", 1.5},
	} {
		v := lab.Suite[slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == c.lock })]
		for _, workers := range []int{8, 24, 64} {
			for _, think := range []float64{100, 1000} {
				w := simulate.Workload{Workers: workers, Hold: think / 5, Think: think, Wait: harness.WaitPause, Turns: 1500, Warm: 200, Seed: 1}
				own, err := simulate.Run(m, w, v.Local)
				if err != nil {
					t.Fatal(err)
				}
				other, err := simulate.Run(m, w, twins[c.twin].local)
				if err != nil {
					t.Fatal(err)
				}
				ratio := own.PerTurn / other.PerTurn
				t.Logf("%-9s over twin of %-16s %2d workers, think %4.0f ns: %7.1f / %7.1f = %.2f", c.lock, c.twin, workers, think, own.PerTurn, other.PerTurn, ratio)
				if max(ratio, 1/ratio) > c.bound {
					t.Errorf("%s, %d workers, think %v ns: %.2f of the twin of %s; the bound is %.2f", c.lock, workers, think, ratio, c.twin, c.bound)
				}
			}
		}
	}
}
