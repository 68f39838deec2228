package machine

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"locklab/internal/require"
)

var (
	quietStart = observation{at: time.Unix(100, 0), speed: 1, own: time.Second,
		busy: 40_000, steal: 10, total: 50_000, pressure: 7000, throttle: 3, hot: 5, moved: 9}
	quietEnd = observation{at: time.Unix(101, 0), speed: 1, own: time.Second,
		busy: 40_000, steal: 10, total: 50_200, pressure: 7000, throttle: 3, hot: 5, moved: 9}
)

func unknownObservation(at time.Time) observation {
	return observation{at: at, busy: -1, steal: -1, total: -1, pressure: -1, throttle: -1, hot: -1, moved: -1}
}

func TestNoiseWarnings(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(start, end *observation)
		want   []string
	}{
		{"quiet", func(*observation, *observation) {}, nil},
		{"steal", func(_, o *observation) { o.steal += 6 }, []string{"the host gave 3 %"}},
		{"one tick of steal is nothing", func(_, o *observation) { o.steal++; o.total = 50_020 }, nil},
		{"others", func(_, o *observation) { o.busy += 102 }, []string{"used 50 % of"}},
		{"this process is not others", func(_, o *observation) { o.busy += 102; o.own += time.Second }, nil},
		{"a few others", func(_, o *observation) { o.busy += 20 }, nil},
		{"pressure", func(_, o *observation) { o.pressure += 500_000 }, []string{"during 50 %"}},
		{"some pressure", func(_, o *observation) { o.pressure += 90_000 }, nil},
		{"throttled", func(_, o *observation) { o.throttle++ }, []string{"stopped 1 time because"}},
		{"hot", func(_, o *observation) { o.hot += 2 }, []string{"slowed down 2 times"}},
		{"migrations", func(_, o *observation) { o.moved += 12_000 }, []string{"moved between processors so often that it took about 6 % of their time"}},
		{"some migrations", func(_, o *observation) { o.moved += 9000 }, nil},
		{"slower", func(_, o *observation) { o.speed = 0.8 }, []string{"80 % of the speed"}},
		{"faster", func(_, o *observation) { o.speed = 1.3 }, []string{"130 % of the speed"}},
		{"a little slower", func(_, o *observation) { o.speed = 0.9 }, nil},
		{"everything", func(_, o *observation) {
			o.steal, o.busy, o.pressure, o.throttle, o.hot, o.speed, o.moved = 60, 40_100, 1e6, 4, 6, 0.5, 50_000
		}, []string{"host", "other processes", "waited", "stopped", "heat", "50 % of the speed", "moved"}},
		{"unknown at the start", func(o, _ *observation) { *o = unknownObservation(o.at) }, nil},
		{"unknown at the end", func(_, o *observation) { *o = unknownObservation(o.at) }, nil},
		{"counters restart", func(_, o *observation) {
			o.busy, o.steal, o.total, o.pressure, o.throttle, o.hot, o.moved = 0, 0, 0, 0, 0, 0, 0
		}, nil},
		{"no time", func(a, b *observation) { *b = *a }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := quietStart, quietEnd
			tc.change(&a, &b)
			n := noise(a, b)
			n.CPUs = 2
			ws := NoiseWarnings(n, false)
			checkWarnings(t, ws, tc.want)
			if local, remote := fmt.Sprint(ws), fmt.Sprint(NoiseWarnings(n, true)); strings.Contains(local, "servers") || strings.Contains(remote, "servers") != strings.Contains(local, "{other") {
				t.Errorf("%s, of a distributed lock %s", local, remote)
			}
		})
	}
}

// TestMoves: moves are judged by their cost. The windows are of distributed locks with one
// worker on two processors, the first three from an idle machine.
func TestMoves(t *testing.T) {
	for _, c := range []struct {
		moved int64
		n     Noise
		bad   bool
	}{
		{1395, Noise{Window: time.Second, CPUs: 2, Busy: 1}, false}, // the median window
		{3233, Noise{Window: time.Second, CPUs: 2, Busy: 1}, false}, // nine of ten have fewer
		{2500, Noise{Window: 750 * time.Millisecond, CPUs: 2, Busy: 1}, false},
		{9000, Noise{Window: time.Second, CPUs: 2, Busy: 1}, true},
		{9000, Noise{Window: time.Second, CPUs: 2, Busy: 2}, false},
		{9000, Noise{Window: time.Second, CPUs: 2}, false}, // of an older lab
		{9000, Noise{Window: time.Second, CPUs: 64, Busy: 1}, true},
		{9000, Noise{Window: time.Second, CPUs: 1, Busy: 8}, true},
		{9000, Noise{Window: 10 * time.Second, CPUs: 2, Busy: 1}, false},
	} {
		c.n.Migrations, c.n.Speed = c.moved, 1
		require.Equal(t, fmt.Sprintf("%+v: a warning", c.n), len(NoiseWarnings(c.n, false)) > 0, c.bad)
	}
}

func TestNoiseChecks(t *testing.T) {
	quiet := Noise{Window: time.Second, CPUs: 2, Pressure: 0.01, Speed: 1, Hot: -1}
	loud := Noise{Window: time.Second, CPUs: 2, Steal: 0.2, Pressure: 0.3, Throttled: 4, Hot: -1, Migrations: 30_000, Speed: 0.5}
	checks := NoiseChecks([]Noise{quiet, loud, quiet})
	got := make(map[string]Check)
	for _, c := range checks {
		got[c.Kind] = c
	}
	for kind, want := range map[string]Check{
		"steal":      {Found: "0.0 % in the median window, 20.0 % in the worst; too much in 1 of 3", Bad: true},
		"others":     {Found: "0.0 %"},
		"pressure":   {Found: "1.0 % in the median window, 30.0 % in the worst; too much in 1 of 3", Bad: true},
		"throttled":  {Found: "0 times in the median window, 4 times in the worst; too much in 1 of 3", Bad: true},
		"heat":       {},
		"speed":      {Found: "100.0 % in the median window, 50.0 % in the worst; too much in 1 of 3", Bad: true},
		"migrations": {Found: "0.0 % in the median window, 15.0 % in the worst; too much in 1 of 3", Bad: true},
	} {
		if c := got[kind]; c.Found != want.Found || c.Bad != want.Bad || c.Name == "" {
			t.Errorf("%s: got %+v, want %+v", kind, c, want)
		}
	}
	for _, c := range NoiseChecks([]Noise{quiet}) {
		if c.Bad {
			t.Errorf("a quiet window: %+v", c)
		}
	}
}

func TestObserveReadsCounters(t *testing.T) {
	f := readFixture(t, "testdata/container.txtar")
	f.fsys["proc/stat"] = &fstest.MapFile{Data: []byte(`cpu  9999 9 9999 99999 999 9 99 999 0 0
cpu0 100 1 100 1000 10 1 10 100 0 0
cpu2 1 2 3 4 5 6 7 8 9 10
cpu3 10 20 30 40 50 60 70 80
cpu5 x
intr 1 2 3
`)}
	f.fsys["proc/pressure/cpu"] = &fstest.MapFile{Data: []byte("some avg10=1.49 avg60=8.19 avg300=5.99 total=43852547\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n")}
	for cpu, n := range []string{2: "4", 3: "5", 5: "6", 6: "7"} {
		f.fsys["sys/devices/system/cpu/cpu"+string(rune('0'+cpu))+"/thermal_throttle/core_throttle_count"] = &fstest.MapFile{Data: []byte(n)}
	}
	for thread, n := range map[string]string{"7": "4", "8": "38"} {
		f.fsys["proc/self/task/"+thread+"/sched"] = &fstest.MapFile{Data: []byte("locklab (7, #threads: 2)\n---\nse.sum_exec_runtime : 1.5\nse.nr_migrations    :     " + n + "\nnr_switches : 5\n")}
	}
	o := observe(f.fsys, f.cpus)
	got := []int64{o.busy, o.steal, o.total, o.pressure, o.throttle, o.hot, o.moved}
	// Of processors 2 and 3; busy is user, nice and system.
	want := []int64{11 * (1 + 2 + 3), 11 * 8, 11 * 36, 43852547, 3, 22, 42}
	if !slices.Equal(got, want) {
		t.Errorf("busy, steal, total, pressure, throttle, hot, moved are %v, want %v", got, want)
	}
	if o.speed <= 0 && runtime.GOARCH != "wasm" {
		t.Errorf("speed %v", o.speed)
	}
}

func TestObserveWithoutFiles(t *testing.T) {
	o := observe(fstest.MapFS{}, []int{0})
	if got := []int64{o.busy, o.steal, o.total, o.pressure, o.throttle, o.hot, o.moved}; !slices.Equal(got, []int64{-1, -1, -1, -1, -1, -1, -1}) {
		t.Errorf("read %v from nothing", got)
	}
	o.speed = 1
	n := noise(o, o)
	if ws := NoiseWarnings(n, false); ws != nil {
		t.Errorf("missing files made %+v", ws)
	}
	for _, c := range NoiseChecks([]Noise{n}) {
		if (c.Found != "") != (c.Kind == "speed") || c.Bad {
			t.Errorf("missing files made %+v", c)
		}
	}
}

func TestWatchSamples(t *testing.T) {
	const limit = "sys/fs/cgroup/user.slice/cpu.max"
	for name, c := range map[string]struct {
		before, after   string // of the limit
		cpus            []int  // after; 0 to 3 before
		left            int
		limit           float64
		kinds           []string
		processors, cap string // found by the checks
	}{
		"nothing changes":  {"max 100000", "max 100000", []int{0, 1, 2, 3}, 4, 0, nil, "4 CPUs", "none"},
		"a processor goes": {"max 100000", "max 100000", []int{0, 1, 2}, 3, 0, []string{kindCPUs}, "4 CPUs at the start; in 1 of 2 windows not, as 3 CPUs", "none"},
		"one comes":        {"max 100000", "max 100000", []int{0, 1, 2, 3, 4}, 4, 0, nil, "4 CPUs", "none"},
		"a limit comes":    {"max 100000", "50000 100000", []int{0, 1, 2, 3}, 4, 0.5, []string{kindLimit}, "4 CPUs", "none at the start; in 1 of 2 windows not, as 0.5 CPUs"},
		"a limit goes":     {"50000 100000", "max 100000", []int{0, 1, 2, 3}, 4, 0.5, []string{kindLimit}, "4 CPUs", "none at the start; in 1 of 2 windows not, as 0.5 CPUs"},
	} {
		e := editedFixture(t, limit, "max 100000").read()
		w := watch(editedFixture(t, limit, c.before).fsys, []int{0, 1, 2, 3})
		n := w.stop(editedFixture(t, limit, c.after).fsys, c.cpus)
		if n.CPUs != c.left || n.Limit != c.limit {
			t.Errorf("%s: %d CPUs, limit %v, want %d and %v", name, n.CPUs, n.Limit, c.left, c.limit)
		}
		if got := kindsOf(ChangeWarnings(n, Conditions{CPUs: e.CPUs, Limit: e.CPULimit, Governor: e.Governor, Turbo: e.Turbo})); !slices.Equal(got, c.kinds) {
			t.Errorf("%s: warnings %v, want %v", name, got, c.kinds)
		}
		for _, check := range e.Through([]Noise{{CPUs: 4}, n}) {
			want, ok := map[string]string{kindCPUs: c.processors, kindLimit: c.cap}[check.Kind]
			if ok && (check.Found != want || check.Bad != slices.Contains(c.kinds, check.Kind)) {
				t.Errorf("%s: %+v, want %q", name, check, want)
			}
		}
	}
	if got := kindsOf(ChangeWarnings(Noise{CPUs: 4}, Conditions{CPUs: 4, Limit: 0.5})); !slices.Equal(got, []string{kindLimit}) {
		t.Errorf("a limit of the start is gone: warnings %v", got)
	}
	for path, kind := range map[string]string{
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": kindGovernor,
		"sys/devices/system/cpu/cpufreq/policy0/boost":         kindTurbo,
	} {
		quiet := editedFixture(t, "", "")
		other := editedFixture(t, path, map[string]string{kindGovernor: "powersave", kindTurbo: "1"}[kind])
		was := readConditions(quiet.fsys, quiet.cpus)
		for _, ends := range [][2]fixture{{quiet, other}, {other, quiet}, {other, other}} {
			n := watch(ends[0].fsys, quiet.cpus).stop(ends[1].fsys, quiet.cpus)
			if got := kindsOf(ChangeWarnings(n, was)); !slices.Equal(got, []string{kind}) {
				t.Errorf("%s: warnings %v", path, got)
			}
		}
	}
}

func TestBinaryHash(t *testing.T) {
	if h := BinaryHash(); len(h) != 64 || h != BinaryHash() {
		t.Errorf("the hash of this program is %q, then %q", h, BinaryHash())
	}
}
