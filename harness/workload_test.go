package harness_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"locklab/harness"
)

func TestWorkloadName(t *testing.T) {
	for _, test := range []struct {
		w    harness.Workload
		want string
	}{
		{harness.Workload{Workers: 8}, "workers=8/hold=0s"},
		{harness.Workload{Workers: 8, Hold: harness.Span{Mean: 100}}, "workers=8/hold=100ns"},
		{harness.Workload{
			Workers: 4, Clients: 2, GOMAXPROCS: 3,
			Hold:  harness.Span{Mean: time.Minute},
			Think: harness.Span{Mean: 1500, Exp: true},
			Wait:  harness.WaitSpin, Pin: harness.PinCPU,
			Reads: 90, Locks: 64, Garbage: true,
		}, "workers=4/clients=2/wait=spin/pin=cpu/procs=3/reads=90%/locks=64/gc=on/think=1.5µs-exp/hold=1m"},
	} {
		if got := test.w.Name(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestWorkloadValidate(t *testing.T) {
	correct := harness.Workload{Workers: 2, Window: time.Second}
	for _, test := range []struct {
		name  string
		spoil func(*harness.Workload)
		want  string // "" accepts
	}{
		{"correct", func(*harness.Workload) {}, ""},
		{"all axes", func(w *harness.Workload) {
			w.Clients, w.GOMAXPROCS, w.Warmup = 2, 4, time.Second
			w.Hold, w.Think = harness.Span{Mean: time.Minute}, harness.Span{Mean: time.Minute, Exp: true}
			w.Wait, w.Pin = harness.WaitYield, harness.PinThread
			w.Reads, w.Locks, w.Garbage = 100, 1<<16, true
		}, ""},
		{"no workers", func(w *harness.Workload) { w.Workers = 0 }, "workers is 0"},
		{"too many workers", func(w *harness.Workload) { w.Workers = 4097 }, "workers is 4097"},
		{"negative clients", func(w *harness.Workload) { w.Clients = -1 }, "clients is -1"},
		{"more clients than workers", func(w *harness.Workload) { w.Clients = 3 }, "clients is 3"},
		{"negative hold", func(w *harness.Workload) { w.Hold.Mean = -1 }, "hold is -1ns"},
		{"long hold", func(w *harness.Workload) { w.Hold.Mean = time.Minute + 1 }, "hold is 1m"},
		{"negative think", func(w *harness.Workload) { w.Think.Mean = -1 }, "think is -1ns"},
		{"long think", func(w *harness.Workload) { w.Think.Mean = time.Hour }, "think is 1h"},
		{"strange wait", func(w *harness.Workload) { w.Wait = "adaptive" }, `wait is "adaptive"`},
		{"strange pin", func(w *harness.Workload) { w.Pin = "core" }, `pin is "core"`},
		{"negative procs", func(w *harness.Workload) { w.GOMAXPROCS = -1 }, "gomaxprocs is -1"},
		{"negative reads", func(w *harness.Workload) { w.Reads = -1 }, "reads is -1"},
		{"more than all reads", func(w *harness.Workload) { w.Reads = 101 }, "reads is 101"},
		{"negative locks", func(w *harness.Workload) { w.Locks = -1 }, "locks is -1"},
		{"too many locks", func(w *harness.Workload) { w.Locks = 1<<16 + 1 }, "locks is 65537"},
		{"negative warm-up", func(w *harness.Workload) { w.Warmup = -1 }, "warmup is -1ns"},
		{"no window", func(w *harness.Workload) { w.Window = 0 }, "window is 0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := correct
			test.spoil(&w)
			err := w.Validate()
			wantError(t, err, test.want)
			if err != nil && !errors.Is(err, harness.ErrUsage) {
				t.Errorf("%v does not wrap ErrUsage", err)
			}
		})
	}
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]harness.Span{
		"0":         {},
		"100ns":     {Mean: 100},
		"1.5us":     {Mean: 1500},
		"2ms-exp":   {Mean: 2 * time.Millisecond, Exp: true},
		"0s-exp":    {Exp: true},
		"1h30m":     {Mean: 90 * time.Minute},
		"1m0s":      {Mean: time.Minute},
		"100ns-exp": {Mean: 100, Exp: true},
	} {
		if got, err := harness.ParseSpan(text); err != nil || got != want {
			t.Errorf("ParseSpan(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "100", "-1ns", "exp", "-exp", "100ns-exp-exp", "100ns-EXP", "1 ns", "inf"} {
		if got, err := harness.ParseSpan(text); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("ParseSpan(%q) = %v, %v; want an error that wraps ErrUsage", text, got, err)
		}
	}
}

// benchName is what benchmark tools read as an axis, and tail what they read as
// GOMAXPROCS.
var (
	benchName = regexp.MustCompile(`^[^\s/=]+=[^\s/=]+(/[^\s/=]+=[^\s/=]+)*$`)
	tail      = regexp.MustCompile(`-[0-9]+$`)
)

func FuzzSpan(f *testing.F) {
	for _, text := range []string{"0", "100ns", "1.5us-exp", "1m0s", "1h0m0s", "2540400h10m10s", "-1ns", "5e3ns"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		span, err := harness.ParseSpan(text)
		if err != nil {
			return
		}
		if again, err := harness.ParseSpan(span.String()); err != nil || again != span {
			t.Errorf("%q is %v, which reads back as %v, %v", text, span, again, err)
		}
		name := harness.Workload{Workers: 1, Hold: span, Think: span}.Name()
		if !benchName.MatchString(name) || tail.MatchString(name) {
			t.Errorf("%q gives the name %q, which benchmark tools misread", text, name)
		}
	})
}

func TestPolicyNames(t *testing.T) {
	if got := harness.WaitAdaptive.String(); got != "adaptive" {
		t.Errorf("the default wait policy is called %q", got)
	}
	if got := harness.PinNone.String(); got != "none" {
		t.Errorf("the default pin policy is called %q", got)
	}
	for _, p := range harness.WaitPolicies[1:] {
		if p.String() != string(p) {
			t.Errorf("wait policy %q is called %q", string(p), p)
		}
	}
	for _, p := range harness.Pins[1:] {
		if p.String() != string(p) {
			t.Errorf("pin policy %q is called %q", string(p), p)
		}
	}
}

func TestCounts(t *testing.T) {
	a, b := harness.Counts{Requests: 7, Notifications: 3}, harness.Counts{Requests: 5, Notifications: 2}
	if got, want := a.Sub(b), (harness.Counts{Requests: 2, Notifications: 1}); got != want {
		t.Errorf("Sub: got %v, want %v", got, want)
	}
	if got, want := a.Sub(b).Add(b), a; got != want {
		t.Errorf("Add: got %v, want %v", got, want)
	}
}
