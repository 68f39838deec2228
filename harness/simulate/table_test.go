//go:build systematic && simulate

package simulate_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

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

var outcomes = sync.OnceValues(func() (map[string][]simulate.Outcome, error) {
	if *update {
		if _, err := differences(true); err != nil {
			return nil, err
		}
	}
	all := map[string][]simulate.Outcome{}
	for _, s := range simulate.All {
		m, err := simulate.Load(file(s.Machine)) // the program's own may be older than the file just written
		if err != nil {
			return nil, err
		}
		if testing.Short() && m.Evidence == simulate.Fitted {
			continue
		}
		if all[s.Machine], err = s.Run(m, 1, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// TestTable fails if the model's errors against published measurements have grown.
func TestTable(t *testing.T) {
	all, err := outcomes()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-15s %-9s %-9s %6s %8s %6s %24s %12s", "machine", "evidence", "section", "points", "typical", "bias", "worst", "tau (pairs)")
	seen := 0
	for _, s := range simulate.All {
		m, _ := simulate.Named(s.Machine)
		for _, section := range sections(all[s.Machine]) {
			sum := simulate.Summarize(counted(all[s.Machine], section))
			worst := sum.Worst.Model / sum.Worst.NS
			t.Logf("%-15s %-9s %-9s %6d %8.3f %6.2f %24s %12s", s.Machine, m.Evidence, section, sum.Points, sum.Typical, sum.Bias,
				fmt.Sprintf("%.2f %s %d", worst, sum.Worst.Lock, sum.Worst.Workers), fmt.Sprintf("%.2f (%d)", sum.Tau, sum.Pairs))
			i := slices.IndexFunc(bounds, func(b bound) bool { return b.machine == s.Machine && b.section == section })
			if i < 0 {
				t.Errorf("%s, %s: no bound", s.Machine, section)
				continue
			}
			seen++
			b := bounds[i]
			if sum.Typical > b.typical || max(worst, 1/worst) > b.worst || sum.Tau < b.tau {
				t.Errorf("%s, %s: typical %.3f, worst %.3f, tau %.3f; the bounds are %.2f, %.2f, %.2f", s.Machine, section, sum.Typical, max(worst, 1/worst), sum.Tau, b.typical, b.worst, b.tau)
			}
		}
	}
	if !testing.Short() && seen != len(bounds) {
		t.Errorf("%d bounds, %d of them met", len(bounds), seen)
	}
}

func sections(all []simulate.Outcome) (names []string) {
	for _, o := range all {
		if !slices.Contains(names, o.Section) {
			names = append(names, o.Section)
		}
	}
	return names
}

func TestEvidence(t *testing.T) {
	fitted, compared := map[string]bool{}, map[string]bool{}
	for _, f := range simulate.Fits {
		fitted[f.Machine] = true
	}
	for _, s := range simulate.All {
		compared[s.Machine] = true
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
	out := func(lock string, ns, model float64) simulate.Outcome {
		return simulate.Outcome{Point: simulate.Point{Lock: lock, Workers: 4, NS: ns}, Model: model}
	}
	s := simulate.Summarize([]simulate.Outcome{out("a", 100, 200), out("b", 200, 100), out("c", 205, 50), out("d", 400, 400)})
	// The logarithms are ln 2, -ln 2, -ln 4.1, 0. b and c are no pair. a and b, a and
	// c are the wrong way round, d is last in both.
	if s.Points != 4 || s.Worst.Lock != "c" || s.Pairs != 5 || s.Tau != (3.-2)/5 {
		t.Errorf("%+v", s)
	}
	if r := func(x float64) string { return fmt.Sprintf("%.3f", x) }; r(s.Typical) != "2.361" || r(s.Bias) != "0.703" {
		t.Errorf("typical %.4f, bias %.4f", s.Typical, s.Bias)
	}
	if s := simulate.Summarize(nil); s.Points != 0 || cmp.Compare(s.Typical, 0) != 0 || s.Pairs != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}

// TestLabLocks compares locks of the lab with their twins: conclusions need similar behaviour.
func TestLabLocks(t *testing.T) {
	m, err := simulate.Named("broadwell-2x22")
	if err != nil {
		t.Fatal(err)
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
		twin := simulate.Twins[slices.IndexFunc(simulate.Twins, func(t simulate.Twin) bool { return t.Name == c.twin })]
		for _, workers := range []int{8, 24, 64} {
			for _, think := range []float64{100, 1000} {
				w := simulate.Workload{Workers: workers, Hold: think / 5, Think: think, Wait: harness.WaitPause, Turns: 1500, Warm: 200, Seed: 1}
				own, err := simulate.Run(m, w, v.Local)
				if err != nil {
					t.Fatal(err)
				}
				other, err := simulate.Run(m, w, twin.Local)
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
