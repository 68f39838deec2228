package harness_test

import (
	"errors"
	"math"
	"regexp"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/require"
)

func TestWorkloadName(t *testing.T) {
	for _, test := range []struct {
		w    harness.Workload
		want string
	}{
		{harness.Workload{Workers: 8}, "workers=8/hold=0s"},
		{harness.Workload{Workers: 8, Hold: harness.Span{Mean: 100}}, "workers=8/hold=100ns"},
		{harness.Workload{Workers: 8, Servers: 1, Delay: 2 * time.Millisecond}, "workers=8/delay=2ms/hold=0s"},
		{harness.Workload{
			Workers: 4, Clients: 2, GOMAXPROCS: 3,
			Hold:  harness.Span{Mean: time.Minute},
			Think: harness.Span{Mean: 1500, Exp: true},
			Wait:  harness.WaitSpin, Pin: harness.PinCPU,
			Reads: 90, Locks: 64, Garbage: true, Section: "lines:16",
			Servers: 3, Durable: true, TLS: true, Delay: 500 * time.Microsecond,
		}, "workers=4/clients=2/servers=3/durable=on/tls=on/delay=500µs/wait=spin/pin=cpu/procs=3/reads=90%/locks=64/gc=on/section=lines:16/think=1.5µs-exp/hold=1m"},
		{harness.Workload{Workers: 2, Section: harness.SectionMap, Hold: harness.Span{Mean: 599, Mix: "100ns*99+50µs"}}, "workers=2/section=map/hold=100ns*99+50µs"},
		{harness.Workload{Workers: 64, Rate: 500}, "workers=64/rate=500-per-s/hold=0s"},
		{harness.Workload{Workers: 64, Rate: 1.5e3, Arrivals: harness.Even, Deadline: 10 * time.Millisecond}, "workers=64/rate=1.5k-per-s/arrivals=even/deadline=10ms/hold=0s"},
		{harness.Workload{Workers: 8, Rate: 2e6, Deadline: time.Minute}, "workers=8/rate=2M-per-s/deadline=1m/hold=0s"},
	} {
		require.Equal(t, "Name", test.w.Name(), test.want)
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
			w.Servers, w.Durable, w.Delay = 7, true, time.Second
		}, ""},
		{"all sections and a mixture", func(w *harness.Workload) {
			w.Section, w.Locks = "lines:1024", 1<<11
			w.Hold = harness.Span{Mean: 599, Mix: "100ns*99+50µs"}
		}, ""},
		{"strange section", func(w *harness.Workload) { w.Section = "heap" }, `section is "heap"`},
		{"no section by another name", func(w *harness.Workload) { w.Section = "work" }, `section is "work"`},
		{"section in another form", func(w *harness.Workload) { w.Section = "lines:+4" }, `section is "lines:+4"`},
		{"too much data", func(w *harness.Workload) { w.Section, w.Locks = harness.SectionLRU, 1<<16 }, "section lru behind 65536 locks takes 8192 MiB"},
		{"mixture of another mean", func(w *harness.Workload) { w.Think = harness.Span{Mean: 600, Mix: "100ns*99+50µs"} }, "think is"},
		{"mixture in another form", func(w *harness.Workload) { w.Hold = harness.Span{Mean: 599, Mix: "50µs+100ns*99"} }, "hold is"},
		{"exponential mixture", func(w *harness.Workload) { w.Hold = harness.Span{Mean: 599, Exp: true, Mix: "100ns*99+50µs"} }, "hold is"},
		{"no mixture", func(w *harness.Workload) { w.Hold = harness.Span{Mean: 599, Mix: "x"} }, "hold is"},
		{"one server", func(w *harness.Workload) { w.Servers = 1 }, ""},
		{"two servers", func(w *harness.Workload) { w.Servers = 2 }, "servers is 2"},
		{"negative servers", func(w *harness.Workload) { w.Servers = -1 }, "servers is -1"},
		{"too many servers", func(w *harness.Workload) { w.Servers = 9 }, "servers is 9"},
		{"negative delay", func(w *harness.Workload) { w.Delay = -1 }, "delay is -1ns"},
		{"long delay", func(w *harness.Workload) { w.Delay = time.Second + 1 }, "delay is 1.000000001s"},
		{"open loop", func(w *harness.Workload) {
			w.Rate, w.Arrivals, w.Deadline = harness.MaxRate, harness.Even, harness.MaxDeadline
		}, ""},
		{"negative rate", func(w *harness.Workload) { w.Rate = -1 }, "rate is -1"},
		{"no rate at all", func(w *harness.Workload) { w.Rate = harness.Rate(math.NaN()) }, "rate is NaN"},
		{"high rate", func(w *harness.Workload) { w.Rate = 2 * harness.MaxRate }, "rate is 200M"},
		{"rate without an arrival", func(w *harness.Workload) { w.Rate = 0.5 }, "too short for one arrival"},
		{"rate and think", func(w *harness.Workload) { w.Rate, w.Think.Mean = 500, 1 }, "think is 1ns with a rate of 500/s"},
		{"strange arrivals", func(w *harness.Workload) { w.Rate, w.Arrivals = 500, "poisson" }, `arrivals is "poisson"`},
		{"arrivals without a rate", func(w *harness.Workload) { w.Arrivals = harness.Even }, "without a rate"},
		{"deadline without a rate", func(w *harness.Workload) { w.Deadline = 1 }, "without a rate"},
		{"negative deadline", func(w *harness.Workload) { w.Rate, w.Deadline = 500, -1 }, "deadline is -1ns"},
		{"no workers", func(w *harness.Workload) { w.Workers = 0 }, "workers is 0"},
		{"too many workers", func(w *harness.Workload) { w.Workers = 8193 }, "workers is 8193"},
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
		{"ranks", func(w *harness.Workload) { w.Workers, w.Ranks = 9, 4 }, ""},
		{"many workers of several ranks", func(w *harness.Workload) { w.Workers, w.Ranks = 5000, 4 }, ""},
		{"too many for one rank", func(w *harness.Workload) { w.Workers, w.Ranks = 9000, 1 }, "workers is 9000"},
		{"fewer workers than ranks", func(w *harness.Workload) { w.Workers, w.Ranks = 3, 4 }, "workers is 3: want one for each of the 4 ranks"},
		{"fewer clients than ranks", func(w *harness.Workload) { w.Workers, w.Ranks, w.Clients = 8, 4, 2 }, "clients is 2"},
		{"negative ranks", func(w *harness.Workload) { w.Ranks = -1 }, "ranks is -1"},
		{"too many ranks", func(w *harness.Workload) { w.Ranks = harness.MaxRanks + 1 }, "ranks is 1025"},
		{"even arrivals of ranks", func(w *harness.Workload) {
			w.Workers, w.Ranks, w.Rate, w.Arrivals = 8, 4, 10, harness.Even
		}, "--arrivals"},
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

type settable[T any] interface {
	*T
	Set(text string) error
}

func read[T any, P settable[T]](text string) (x T, err error) {
	err = P(&x).Set(text)
	return x, err
}

// requireTexts checks that Set accepts the given texts as their values, and refuses the others
// with ErrUsage.
func requireTexts[T comparable, P settable[T]](t *testing.T, accepted map[string]T, refused ...string) {
	t.Helper()
	for text, want := range accepted {
		if got, err := read[T, P](text); err != nil || got != want {
			t.Errorf("Set(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range refused {
		if got, err := read[T, P](text); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("Set(%q) = %v, %v; want an error that wraps ErrUsage", text, got, err)
		}
	}
}

func TestSetSpan(t *testing.T) {
	requireTexts(t, map[string]harness.Span{
		"0":         {},
		"100ns":     {Mean: 100},
		"1.5us":     {Mean: 1500},
		"2ms-exp":   {Mean: 2 * time.Millisecond, Exp: true},
		"0s-exp":    {Exp: true},
		"1h30m":     {Mean: 90 * time.Minute},
		"1m0s":      {Mean: time.Minute},
		"100ns-exp": {Mean: 100, Exp: true},
		"+5ns":      {Mean: 5},

		"100ns*99+50us":    {Mean: 599, Mix: "100ns*99+50µs"},
		"50us+100ns*99":    {Mean: 599, Mix: "100ns*99+50µs"},
		"100ns*198+50us*2": {Mean: 599, Mix: "100ns*99+50µs"},
		"1us+3us":          {Mean: 2000, Mix: "1µs+3µs"},
		"0*9+1ns":          {Mean: 1, Mix: "0s*9+1ns"}, // rounded up: 0 would be no span
		"1ns+2ns*2+1ns*3":  {Mean: 2, Mix: "1ns*2+2ns"},
		"5ns*3":            {Mean: 5},
		"5ns+5ns":          {Mean: 5},
	}, "", "100", "-1ns", "exp", "-exp", "100ns-exp-exp", "100ns-EXP", "1 ns", "inf",
		"1ns*0+2ns", "1ns*-1+2ns", "1ns*1.5+2ns", "1ns*1000001+2ns", "1ns*+2ns", "*3+2ns", "1ns+", "+", "*", "1ns++2ns", "1ns-exp+2ns", "1ns+2ns-exp",
		"1ns*2*3+2ns", "61s+1ns", "-1ns+2ns", "1ns+2ns+3ns+4ns+5ns+6ns+7ns+8ns+9ns", "1ns*1000000+1ns+2ns")
}

// benchName matches the axes that benchmark tools read, and tail their GOMAXPROCS suffix.
var (
	benchName = regexp.MustCompile(`^[^\s/=]+=[^\s/=]+(/[^\s/=]+=[^\s/=]+)*$`)
	tail      = regexp.MustCompile(`-[0-9]+$`)
)

func FuzzSpan(f *testing.F) {
	for _, text := range []string{"0", "100ns", "1.5us-exp", "1m0s", "1h0m0s", "2540400h10m10s", "-1ns", "5e3ns", "100ns*99+50us", "0*3+1m", "1ns*2+2ns*4+3ns*6"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		span, err := read[harness.Span](text)
		if err != nil {
			return
		}
		if again, err := read[harness.Span](span.String()); err != nil || again != span {
			t.Errorf("%q is %v, which reads back as %v, %v", text, span, again, err)
		}
		checkMixture(t, text, span)
		name := harness.Workload{Workers: 1, Hold: span, Think: span}.Name()
		if !benchName.MatchString(name) || tail.MatchString(name) {
			t.Errorf("%q gives the name %q, which benchmark tools misread", text, name)
		}
	})
}

func checkMixture(t *testing.T, text string, span harness.Span) {
	t.Helper()
	parts, sum, weights := 0, 0.0, 0.0
	for length, weight := range span.Parts() {
		parts++
		sum += float64(length) * float64(weight)
		weights += float64(weight)
	}
	if (parts == 0) != (span.Mix == "") || parts == 1 {
		t.Errorf("%q is %+v and has %d parts", text, span, parts)
	}
	if d := float64(span.Mean) - sum/weights; parts > 0 && !(d > -1e-3 && d < 1+1e-3) {
		t.Errorf("%q has a mean of %v, want %v rounded up", text, span.Mean, sum/weights)
	}
}

func TestSetSection(t *testing.T) {
	accepted := map[string]harness.Section{
		"work": harness.SectionWork, "map": harness.SectionMap, "lru": harness.SectionLRU, "log": harness.SectionLog,
		"lines:1": "lines:1", "lines:1024": "lines:1024", "lines:016": "lines:16",
	}
	requireTexts(t, accepted, "", "foo", "lines", "lines:", "lines:0", "lines:-1", "lines:1025", "lines:x", "lines:1.5", "Map", "lru:4", "lines:99999999999999999999")
	for _, got := range accepted {
		if again, err := read[harness.Section](got.String()); err != nil || again != got {
			t.Errorf("%v reads back as %v, %v", got, again, err)
		}
		w := harness.Workload{Workers: 1, Window: 1, Section: got}
		if err := w.Validate(); err != nil || !benchName.MatchString(w.Name()) || tail.MatchString(w.Name()) {
			t.Errorf("%q: %v", w.Name(), err)
		}
		if (got.Size() == 0) != (got == harness.SectionWork) {
			t.Errorf("the data of %v takes %d bytes", got, got.Size())
		}
	}
}

func TestSetRate(t *testing.T) {
	requireTexts(t, map[string]harness.Rate{
		"500/s": 500, "1k/s": 1e3, "1.5k/s": 1500, "2M/s": 2e6, "3/ms": 3e3, "2/us": 2e6, "0.25/µs": 250e3, "0.5/s": 0.5, "100M/s": harness.MaxRate, "closed": 0,
	}, "", "0", "0/s", "500", "-1/s", "+1/s", "1e3/s", "1 k/s", "1K/s", "1/m", "1/h", "/s", "k/s", ".5/s", "5./s", "101M/s", "101/us", "NaN/s", "Inf/s", "Closed")
}

func FuzzRate(f *testing.F) {
	for _, text := range []string{"500/s", "1.5k/s", "2/us", "0.001/s", "333.333333/s", "99999.9k/s", "closed", "0.1M/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := read[harness.Rate](text)
		if err != nil || rate == 0 {
			return
		}
		if again, err := read[harness.Rate](rate.String()); err != nil || again != rate {
			t.Errorf("%q is %v, which reads back as %v, %v", text, rate, float64(again), err)
		}
		name := harness.Workload{Workers: 1, Rate: rate}.Name()
		if !benchName.MatchString(name) || tail.MatchString(name) {
			t.Errorf("%q gives the name %q, which benchmark tools misread", text, name)
		}
	})
}

func TestPolicyNames(t *testing.T) {
	require.Equal(t, "the default wait policy", harness.WaitAdaptive.String(), "adaptive")
	require.Equal(t, "the default pin policy", harness.PinNone.String(), "none")
}

func TestCounts(t *testing.T) {
	a, b := harness.Counts{Requests: 7, Notifications: 3}, harness.Counts{Requests: 5, Notifications: 2}
	require.Equal(t, "Sub", a.Sub(b), harness.Counts{Requests: 2, Notifications: 1})
	require.Equal(t, "Add", a.Sub(b).Add(b), a)
}

func TestShare(t *testing.T) {
	for _, test := range []struct{ workers, ranks int }{{1, 0}, {8, 1}, {8, 4}, {9, 4}, {11, 4}, {5000, 7}} {
		w := harness.Workload{Workers: test.workers, Ranks: test.ranks, Clients: test.workers, Rate: 100}
		next, clients, least, most := 0, 0, test.workers, 0
		rate := harness.Rate(0)
		for rank := range max(1, test.ranks) {
			first, n := w.Share(rank)
			if first != next {
				t.Errorf("%v: rank %d begins at worker %d, not %d", test, rank, first, next)
			}
			p := w.Part(rank)
			if p.Workers != n {
				t.Errorf("%v: rank %d has %d workers and drives %d", test, rank, n, p.Workers)
			}
			next, clients, rate = next+n, clients+p.Clients, rate+p.Rate
			least, most = min(least, n), max(most, n)
		}
		if next != test.workers || clients != test.workers || most > least+1 || rate < 99.999 || rate > 100.001 {
			t.Errorf("%v: %d workers, %d clients, rate %v, %d to %d a rank", test, next, clients, rate, least, most)
		}
	}
}
