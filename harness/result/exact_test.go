package result

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"

	"locklab/internal/machine"
)

func TestExact(t *testing.T) {
	hosts := []seat{seatAt("a", 0, 0, 0), seatAt("b", 5e12, 0, 0), seatAt("c", -9e11, 0, 0), seatAt("d", 1e18, 0, 0)}
	mixed := []seat{seatAt("a", 0, 0, 0), seatAt("b", 5e12, 0, 0), seatAt("a", 0, 77_000, -1), seatAt("b", 5e12, -1e9, -1)} // two have the offset of the clock that all four read
	for name, seats := range map[string][]seat{"one clock": oneClock(), "clocks without error": hosts, "two clocks": mixed} {
		for seed, workers := range []int{4, 8, 9, 23} {
			w := workload(workers, len(seats))
			holds := drawHolds(uint64(seed), workers)
			whole := measureHolds(w, holds, 0, workers)
			parts := splitHolds(w, holds, seats)
			before := encodeAll(t, parts...)
			got := mergeOne(t, name, shuffle(uint64(seed), runs(seats, parts)))
			if !bytes.Equal(before, encodeAll(t, parts...)) {
				t.Errorf("%s: the parts are no longer what they were", name)
			}
			for _, p := range parts {
				whole.Ranks = append(whole.Ranks, p.Ranks...)
			}
			known := 0
			for _, m := range Metrics {
				a, b := m.Read(got), m.Read(whole)
				if a.Known {
					known++
				}
				if a.Known != b.Known || a.Bound != b.Bound || a.Known && math.Abs(a.Value-b.Value) > 1e-12*math.Abs(b.Value) {
					t.Errorf("%s, %d workers: %s is %v, want %v", name, workers, m.Name, a, b)
				}
			}
			if known < 30 {
				t.Errorf("only %d metrics have a figure", known)
			}
			whole.Warnings = nil
			got.Ranks, whole.Ranks = nil, nil
			if !reflect.DeepEqual(got, whole) {
				t.Errorf("%s, %d workers: got\n%+v\nwant\n%+v", name, workers, got, whole)
			}
		}
	}
}

func encodeAll(t testing.TB, rs ...*Result) (all []byte) {
	t.Helper()
	for _, r := range rs {
		all = append(all, encodeRecord(t, Record{Result: r})...)
	}
	return all
}

func TestSums(t *testing.T) {
	w := workload(8, 4)
	seats := oneClock()
	parts := splitHolds(w, drawHolds(1, 8), seats)
	open := func(x uint64) *OpenLoop {
		return &OpenLoop{Offered: x, Span: time.Duration(x), Dropped: 2 * x, Backlog: 3 * x, Late: 4 * x, Behind: 5 * x, Lag50: float64(x), Lag99: 2 * float64(x)}
	}
	for i, p := range parts {
		x := uint64(i + 1)
		p.Open, p.Think = open(x), Spans{N: int64(x), Sum: 10 * time.Duration(x)}
		p.Servers = &ServerCost{CPU: new(time.Duration(x))}
		p.Retries = []string{"killed"}
		p.Trips = &Trips{Lock: Leg{Halves: 2}}
		p.Started = p.Started.Add(-time.Duration(i) * time.Second)
		p.Unserved, p.RoundTrip, p.Overlap, p.ClockFloor = time.Duration(x), 100+float64(i), 1-0.1*float64(i), float64(x)
		p.CPU = ClientCost{Time: window / 4, Voluntary: int64(x), Involuntary: 2 * int64(x), Allocs: 3 * x}
		p.Noise = &machine.Noise{Window: window, CPUs: 4, Busy: 3, Steal: -1, Others: 0.2, Pressure: 0.1 * float64(x), Throttled: -1, Hot: int64(x), Migrations: 7, Speed: 1 - 0.01*float64(x)}
	}
	parts[2].Noise.Steal, parts[2].Noise.Others, parts[2].Noise.Speed = 0.5, 0.6, 1.3
	got := newGroup(parts).merge()
	all := open(10)
	all.Span, all.Lag50, all.Lag99 = 4, 4, 8
	for name, c := range map[string]struct{ got, want any }{
		"open":    {got.Open, all},
		"think":   {got.Think, Spans{N: 10, Sum: 100}},
		"cpu":     {got.CPU, ClientCost{Time: window, Voluntary: 10, Involuntary: 20, Allocs: 30}},
		"servers": {*got.Servers.CPU, time.Duration(1)},
		// On b ranks 2 and 3 use a sixteenth of the host each: 0.6 of the one is
		// 0.5375 of others.
		"noise":   {*got.Noise, machine.Noise{Window: window, CPUs: 4, Busy: 3, Steal: 0.5, Others: 0.6 - 1./16, Pressure: 0.4, Throttled: -1, Hot: 4, Migrations: 7, Speed: 1.3}},
		"retries": {got.Retries, []string{"rank 0 on a: killed", "rank 1 on a: killed", "rank 2 on b: killed", "rank 3 on b: killed"}},
		"started": {got.Started, parts[3].Started},
		"others":  {[]any{got.Unserved, got.RoundTrip, got.Overlap, got.ClockFloor, got.Trips.Lock.Halves}, []any{time.Duration(4), 101., 0.7, 4., 2}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, c.got, c.want)
		}
	}
	parts[1].RoundTrip, parts[2].Wire = 1000, nil
	if got := newGroup(parts).merge(); got.RoundTrip != 0 || got.Wire != nil {
		t.Errorf("a rank far from the servers: round trip %v; a rank that did not count: %v", got.RoundTrip, got.Wire)
	}
}

func TestRulesAreWhole(t *testing.T) {
	rules := make(map[string]int)
	for _, r := range MergeRules {
		rules[r.Field]++
		if r.How == "" {
			t.Errorf("the rule of %s has no words", r.Field)
		}
	}
	result := reflect.TypeFor[Result]()
	for i := range result.NumField() {
		name := result.Field(i).Name
		if n := rules[name]; n != 1 {
			t.Errorf("Result.%s has %d rules, want 1: say in Rules how it is merged", name, n)
		}
		delete(rules, name)
	}
	if len(rules) > 0 {
		t.Errorf("there are rules for %v, which a result does not have", rules)
	}
}
