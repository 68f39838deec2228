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
	"locklab/internal/require"
	"locklab/spinlock/lab"
)

var update = flag.Bool("update", false, "write accuracy.json and the table of docs/simulation.md")

// TestTable compares the model's errors against published measurements with the recorded ones.
// If all machines are simulated, it also compares the table of docs/simulation.md, but only on
// amd64: if x*y+z is one instruction, the last digits differ.
func TestTable(t *testing.T) {
	exact := runtime.GOARCH == "amd64"
	var records []simulate.ValidationRecord
	table := "| machine | its numbers | workers | points | typical | bias | worst | order |\n|---|---|---|---|---|---|---|---|\n"
	for _, s := range published {
		m := findMachine(t, s.machine)
		if testing.Short() && s.file == "lockhammer.csv" { // many workers: make test-all simulates them
			continue
		}
		all := slices.DeleteFunc(s.simulate(t, *m, nil), func(o outcome) bool { return twins[o.lock].loose })
		sum, r := summarizeOutcomes(all), validationRecord(s.machine, "", all)
		table += fmt.Sprintf("| %s | %s | %d–%d | %d | %.2f | %.2f | %.2f (%s, %d) | %.2f of %d pairs |\n", s.machine, m.Evidence, r.From, r.To,
			r.Points, r.Typical, sum.bias, sum.worst.ratio(), sum.worst.lock, sum.worst.workers, sum.tau, sum.pairs)
		records = append(records, r)
		for _, lock := range []string{"tas-xchg", "ttas", "ticket"} {
			if like := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return twins[o.lock].like != lock }); len(like) > 0 {
				records = append(records, validationRecord(s.machine, lock, like))
			}
		}
	}
	t.Log("\n" + table)
	var lines []string
	for _, r := range records {
		if !*update && !slices.ContainsFunc(simulate.ValidationRecords(), func(old simulate.ValidationRecord) bool {
			return r == old || !exact && r.Machine == old.Machine && r.Lock == old.Lock && r.Points == old.Points && math.Abs(r.Typical/old.Typical-1) < 0.05
		}) {
			t.Errorf("accuracy.json does not have %+v", r)
		}
		line, err := json.Marshal(r)
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	if exact && !testing.Short() {
		requireText(t, "../../docs/simulation.md", "<!-- accuracy: written by go test ./harness/simulate -update -->\n", table, "<!-- end -->")
		requireText(t, "accuracy.json", "[\n", strings.Join(lines, ",\n"), "\n]\n")
	}
}

func validationRecord(machine, lock string, all []outcome) simulate.ValidationRecord {
	round := func(x float64) float64 { return math.Round(100*x) / 100 }
	r := simulate.ValidationRecord{Machine: machine, Lock: lock, Points: len(all), From: math.MaxInt, Least: math.Inf(1)}
	for _, o := range all {
		r.From, r.To = min(r.From, o.workers), max(r.To, o.workers)
		r.Least, r.Most = min(r.Least, round(o.ratio())), max(r.Most, round(o.ratio()))
	}
	r.Typical = round(summarizeOutcomes(all).typical)
	return r
}

// requireText compares the text between two marks in a file with want. With -update, it
// writes want into the file.
func requireText(t *testing.T, file, begin, want, end string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), begin)
	got, _, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("%s does not have %q and %q", file, begin, end)
	case got == want:
	case !*update:
		t.Errorf("%s has\n%s\nand should have\n%s\nrun go test -tags systematic,simulate ./harness/simulate -update", file, got, want)
	default:
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), got, want, 1)), 0o644))
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
		require.Equal(t, m.Name, m.Evidence, want)
		for _, n := range []string{"window", "occupy"} {
			if says := strings.HasPrefix(m.Sources[n], "fitted"); says != fitted[m.Name] {
				t.Errorf("%s: %s: source %q", m.Name, n, m.Sources[n])
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	s := summarizeOutcomes([]outcome{{lock: "a", ns: 100, model: 200}, {lock: "b", ns: 200, model: 100}, {lock: "c", ns: 205, model: 50}, {lock: "d", ns: 400, model: 400}})
	// The logarithms are ln 2, -ln 2, -ln 4.1, 0. b and c are no pair. a and b, a and
	// c are the wrong way round, d is last in both.
	if got := fmt.Sprintf("%.3f %.3f %s %.1f of %d", s.typical, s.bias, s.worst.lock, s.tau, s.pairs); got != "2.361 0.703 c 0.2 of 5" {
		t.Error(got)
	}
}

// TestLabLocks compares locks of the lab with their twins: conclusions need similar behaviour.
func TestLabLocks(t *testing.T) {
	m, counts := findMachine(t, "broadwell-2x22"), []int{8, 24, 64}
	if testing.Short() {
		counts = counts[:1] // make test-all runs the rest
	}
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
		for _, workers := range counts {
			for _, think := range []float64{100, 1000} {
				w := simulate.Workload{Workers: workers, Hold: think / 5, Think: think, Wait: harness.WaitPause, Acquisitions: 1500, Warm: 200, Seed: 1}
				own, err := simulate.Run(m, w, v.Local)
				require.NoError(t, err)
				other, err := simulate.Run(m, w, twins[c.twin].local)
				require.NoError(t, err)
				ratio := own.PerAcquisition / other.PerAcquisition
				t.Logf("%-9s over twin of %-16s %2d workers, think %4.0f ns: %7.1f / %7.1f = %.2f", c.lock, c.twin, workers, think, own.PerAcquisition, other.PerAcquisition, ratio)
				if max(ratio, 1/ratio) > c.bound {
					t.Errorf("%s, %d workers, think %v ns: %.2f of the twin of %s; the bound is %.2f", c.lock, workers, think, ratio, c.twin, c.bound)
				}
			}
		}
	}
}
