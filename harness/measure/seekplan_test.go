package measure

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

func sought(v *harness.Variant, w harness.Workload) *Plan {
	p := plan(1, v)
	p.Cases = []Case{{Lock: v, Workload: w, Sought: true}}
	return p
}

// TestSeekPlan: the rates around a saturation point are added once, and again the same.
func TestSeekPlan(t *testing.T) {
	w := harness.Workload{Workers: 4, Hold: harness.Span{Mean: 200 * time.Microsecond}, Warmup: 2 * time.Millisecond, Window: 30 * time.Millisecond, Arrivals: harness.Even}
	p := sought(good, w)
	requireNoError(t, p.Validate())
	if err := p.Run(t.Context(), nil); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a plan without rates is run: %v", err)
	}
	if whole := p.Estimate(); whole < 10*w.Window {
		t.Errorf("the search and %d rates take %v", len(saturationShares), whole)
	}
	var ks []result.Saturation
	for range 5 { // a busy machine may give too little
		p = sought(good, w)
		var err error
		if ks, err = p.Seek(t.Context(), quietly); err != nil {
			t.Fatal(err)
		}
		if len(ks) == 1 && len(ks[0].Rates) >= 4 {
			break
		}
	}
	k := ks[0]
	t.Logf("%v; closed %.0f/s, measured at %v", k, k.Closed, k.Rates)
	// The lock cannot grant more; how much less depends on the machine.
	if k.Missing != "" || k.UpTo > 7000 || len(k.Rates) < 4 || len(p.Cases) != len(k.Rates) {
		t.Fatalf("the saturation point is %+v, the plan has %d cases", k, len(p.Cases))
	}
	for i, c := range p.Cases {
		want := w
		want.Rate = k.Rates[i]
		if c.Workload != want || !c.Sought || c.Unknown() {
			t.Errorf("case %d is %+v, want %v", i, c, want)
		}
	}
	again := sought(good, w)
	given := again.Cases[0]
	given.Sought, given.Workload.Rate = false, k.Rates[1]
	again.Cases = append(again.Cases, given)
	if err := again.Settle(ks); err != nil || len(again.Cases) != len(p.Cases) {
		t.Errorf("made again, the plan has %d cases, want %d (%v)", len(again.Cases), len(p.Cases), err)
	}
	w.Workers++
	if err := sought(good, w).Settle(ks); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a plan gets rates of another workload: %v", err)
	}
	// In shorter windows the least rates have no arrival.
	for i := range p.Cases {
		p.Cases[i].Workload.Window = time.Duration(1e9/float64(k.Rates[1])) + time.Microsecond
	}
	p.Trim(ks)
	if len(p.Cases) != len(k.Rates)-1 || len(ks[0].Rates) != len(k.Rates)-1 || ks[0].Rates[0] != k.Rates[1] {
		t.Errorf("%d cases and the rates %v are left of %v", len(p.Cases), ks[0].Rates, k.Rates)
	}
}

// quietly ignores the progress of a search.
func quietly(Seeking) {}

// TestSeekNothing: locks that fail or are lost end their search, with the reason.
func TestSeekNothing(t *testing.T) {
	always := mortalNamed("kill-always")
	long := harness.Workload{Workers: 2, Hold: harness.Span{Mean: 200 * time.Millisecond}, Window: time.Millisecond}
	for _, c := range []struct {
		lock   *harness.Variant
		w      harness.Workload
		want   string
		broken string
		rates  int
	}{
		{crash, workload(2), "broke a promise in a probe: crash", "crash", 1},
		{always, workload(2), "gave no result in a probe: ", "", 0},
		{good, long, "was not acquired once", "", 0},
	} {
		p := sought(c.lock, c.w)
		ks, err := p.Seek(t.Context(), quietly)
		if err != nil || len(ks) != 1 || !strings.HasPrefix(ks[0].Missing, c.want) || !strings.HasPrefix(ks[0].Broken, c.broken) ||
			(ks[0].Broken == "") != (c.broken == "") || len(ks[0].Rates) != c.rates || len(p.Cases) != c.rates {
			t.Errorf("%s: %+v, %d cases, %v", c.lock.Name, ks, len(p.Cases), err)
		}
	}
	p := sought(good, workload(2))
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Seek(ctx, func(Seeking) { cancel() }); !errors.Is(err, context.Canceled) || !p.Unknown() {
		t.Errorf("a search that is cancelled: %v", err)
	}
}
