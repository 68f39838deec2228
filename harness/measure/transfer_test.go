package measure

import (
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// TestTransfers probes until one succeeds: on a busy machine two threads seldom run at once.
func TestTransfers(t *testing.T) {
	in := instruments()
	cpus := in.Topology.CPUs()
	if len(cpus) < 2 {
		t.Skip("one processor")
	}
	if raceEnabled {
		t.Skip("under the race detector a compare-and-swap takes microseconds, and its spinning threads stop each other")
	}
	done := make(chan error)
	go func() { done <- machine.PinThread(cpus[0]) }() // on any thread: it is useless afterwards
	if err := <-done; err != nil {
		t.Skip(err)
	}
	for range 200 {
		samples := transfers(in.Clock, cpus)
		if samples == nil {
			continue
		}
		if len(samples) < transferLeast || len(samples) > transferMost {
			t.Errorf("%d samples", len(samples))
		}
		if ns := stat.Median(samples); !(ns > 0.1) || ns > float64(transferPatient) {
			t.Errorf("a transfer takes %v ns", ns)
		}
		return
	}
	t.Error("200 probes, none good")
}

func TestTransfersWithout(t *testing.T) {
	in := instruments()
	if samples := (&Rig{in: in, job: Job{Lock: good}, dead: true}).probe(t.Context()); samples != nil {
		t.Errorf("beside stuck workers: %d samples", len(samples))
	}
	first := in.Topology.CPUs()[0]
	for _, cpus := range [][]int{nil, {first}, {first, first}, {first, 1 << 14}, {1 << 14, first}, {-1, -2}} {
		if samples := transfers(in.Clock, cpus); samples != nil {
			t.Errorf("processors %v: %d samples", cpus, len(samples))
		}
	}
}

func TestDeserted(t *testing.T) {
	in := instruments()
	begin := time.Now()
	if samples := new(ferry).lead(in.Clock); samples != nil {
		t.Errorf("a leader alone took %d samples", len(samples))
	}
	f := new(ferry)
	f.stop.Store(true)
	f.follow()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("they gave up after %v", took)
	}
}

func TestBracket(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []float64
		want          float64
		warns         string // part of it, "" for none
	}{
		{"steady", []float64{29, 30, 31}, []float64{31, 32, 33}, 31, ""},
		{"slower", []float64{29, 30, 31}, []float64{99, 100, 101, 102, 103}, 99.5, "a word took 30 ns from one processor to the other before the window and 101 ns after"},
		{"faster", []float64{100}, []float64{30}, 65, "100 ns"},
		{"just not", []float64{100}, []float64{150}, 125, ""},
		{"no second", []float64{30}, nil, 0, ""},
		{"no first", nil, []float64{30}, 0, ""},
	} {
		for _, kind := range []string{"", harness.KindRedis} {
			r := new(harness.Result)
			r.Lock.Traits.Needs = kind
			got, other, scale, warns := &r.Transfer, &r.RoundTrip, 1.0, c.warns
			if kind != "" { // as many microseconds
				got, other, scale = other, got, 1e3
				warns = strings.NewReplacer("ns", "µs", " from one processor to the other", "", "a word", "a bare request to redis").Replace(warns)
			}
			bracket(r, times(c.before, scale), times(c.after, scale))
			if math.Abs(*got-c.want*scale) > 1e-9*scale || *other != 0 {
				t.Errorf("%s %s: %v ns, want %v; the other one %v", c.name, kind, *got, c.want*scale, *other)
			}
			switch {
			case warns == "" && len(r.Warnings) != 0:
				t.Errorf("%s %s: warnings %v, want none", c.name, kind, r.Warnings)
			case warns != "" && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, warns) || r.Warnings[0].Remedy == ""):
				t.Errorf("%s %s: warnings %v, want one with %q and a remedy", c.name, kind, r.Warnings, warns)
			}
		}
	}
	for kind, most := range map[string]float64{"": 1.5, harness.KindZooKeeper: 2} {
		r := &harness.Result{Lock: harness.Lock{Traits: harness.Traits{Needs: kind}}}
		bracket(r, []float64{100}, []float64{100 * most})
		if len(r.Warnings) > 0 {
			t.Errorf("a change of %v times: %v", most, r.Warnings)
		}
		if bracket(r, []float64{100 * most}, []float64{99}); len(r.Warnings) != 1 {
			t.Errorf("a change of more than %v times: %v", most, r.Warnings)
		}
	}
}

func times(xs []float64, by float64) (out []float64) {
	for _, x := range xs {
		out = append(out, by*x)
	}
	return out
}
