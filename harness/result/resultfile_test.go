package result

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
)

func sample() *Result {
	return &Result{
		Lock: Lock{Name: "mcs", Doc: "queue lock", Paper: "MCS 1991", Family: harness.Spin, Complexity: harness.Queued,
			Traits: harness.Traits{FIFO: true, Doorway: true, Bounded: true, Allocates: true, Handles: true, Reentrant: true, Permits: 1, Fenced: true, FollowsWait: true, MaxWorkers: 9, Servers: 1}},
		Workload: harness.Workload{Workers: 2, Clients: 1, Hold: harness.Span{Mean: 100, Exp: true},
			Think: harness.Span{Mean: 599, Mix: "100ns*99+50µs"}, Section: "lines:16", Wait: harness.WaitYield, Pin: harness.PinCPU,
			GOMAXPROCS: 2, Ranks: 4, Warmup: time.Millisecond, Window: time.Second},
		Round: 3, Started: time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC), Elapsed: time.Second,
		Ops: 30, Workers: []uint64{10, 20}, Handovers: 7,
		Wait:     Histogram{{Value: 0, N: 1}, {Value: 20, N: 3}, {Value: 2049, N: 1 << 40}, {Value: 1<<36 - 1, N: 2}},
		Handover: Histogram{{Value: 100, N: 5}}, HandoverWait: Histogram{{Value: 200, N: 7}},
		Hold: Spans{N: 4, Sum: 480}, Think: Spans{N: 3, Sum: 3100}, Transfer: 28.5, RoundTrip: 48123.5,
		Owners: []uint16{0, 1, 0, 65535}, Burst: 4,
		Ranks: []Rank{{Rank: 1, Host: "b", PID: 7, First: 4, Workers: 2, Ops: 30, Clock: "boot/1", Zero: 5, Opened: 6, Closed: 7, Offset: -8, Error: -1, Late: 9}},
		Holds: []harness.Hold{{Worker: 1, Requested: 3, Acquired: 5, Releasing: 8, Token: 1 << 63}, {Worker: 65535, Requested: -9, Acquired: 4, Releasing: 4, Shared: true, Token: 7},
			{Requested: math.MinInt64, Acquired: math.MaxInt64, Releasing: math.MinInt64, Token: math.MaxUint64}}, HoldsLost: 12,
		BucketCounts: []uint32{10, 20, 0, 1<<32 - 1}, Unserved: 20 * time.Millisecond,
		SampleEvery: 16, ClockFloor: 10.2, ClockStep: 10, Clock: "RDTSC", Overlap: 0.99,
		CPU:  ClientCost{Time: time.Second, Voluntary: 1, Involuntary: 2, Allocs: 3},
		Wire: &harness.Counts{Requests: 90, Notifications: 4},
		Trips: &Trips{Lock: Leg{Halves: 2, Requests: 1}, Unlock: Leg{Halves: 2, Requests: 1.5},
			Behind: &TripsBehind{Queue: Leg{Halves: 1, Requests: 2}, Handover: Leg{Halves: 4, Requests: 3}, Unlock: Leg{Halves: 2, Requests: 1}, Requests: 5, Polls: true}},
		Servers:    &ServerCost{CPU: new(time.Duration(7)), Memory: new(int64(8)), Connections: new(int64(9))},
		Noise:      &machine.Noise{Window: time.Second, CPUs: 2, Steal: 0.01, Others: -1, Pressure: 0.2, Throttled: -1, Hot: 1, Migrations: 7, Speed: 0.98},
		Blocks:     &Blocks{Process: 7, Elapsed: []int64{10, 20}, Ops: []uint64{3, 4}, Handovers: []uint64{1, 2}},
		Retries:    []string{"signal: killed"},
		Open:       &OpenLoop{Offered: 1000, Span: time.Second, Dropped: 3, Backlog: 4, Late: 5, Behind: 2, Lag50: 100, Lag99: 3000},
		Violations: []oracle.Violation{{Rule: "crash", Detail: "it <said> \"panic\"", Count: 2, Trace: []string{"panic: x", "goroutine 7 [running]:"}}},
		Warnings:   []machine.Warning{{Text: "steal 3 %", Remedy: "use a quiet machine", Kind: "steal"}},
	}
}

// TestRoundTrip reads back what was written. A record with a zero field would not test it.
func TestRoundTrip(t *testing.T) {
	model := &ModelMachine{Name: "this", Hypothetical: true, File: []byte(`{"sockets":8,"sources":["a b"]}`)}
	for _, want := range []Record{
		{Result: sample()}, {Finding: finding()}, {Sample: &Sample{Experiment: "core-to-core", Key: "0-1", Values: []float64{1.5, 2}}},
		{Fault: fault()}, {Simulation: simulation()}, {Machine: model}, {Result: &Result{Lock: Lock{Name: "empty"}, Workload: harness.Workload{Workers: 1}}},
	} {
		for _, name := range zeroFields(want) {
			if name != "Published" && (want.Result == nil || want.Result.Lock.Name != "empty") { // Published is in no file
				t.Errorf("%s is zero in %+v", name, want)
			}
		}
		text := encodeRecord(t, want)
		if n := bytes.Count(text, []byte("\n")); n != 1 {
			t.Fatalf("a record takes %d lines, want 1", n)
		}
		if got := decodeLine(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("read back\n%+v\nwant\n%+v", got, want)
		}
	}
}

// zeroFields returns the names of the zero fields of the content of rec.
func zeroFields(rec Record) (names []string) {
	for _, content := range reflect.ValueOf(rec).Fields() {
		if content.IsNil() {
			continue
		}
		for field, v := range content.Elem().Fields() {
			if v.IsZero() {
				names = append(names, field.Name)
			}
		}
	}
	return names
}

func TestDamage(t *testing.T) {
	good := encodeRecord(t, Record{Result: sample()})
	for _, c := range []struct {
		name, file string
		results    int
		damage     string // part of the one expected sentence, "" for no damage
	}{
		{"empty", "", 0, ""},
		{"whole", string(good) + string(good), 2, ""},
		{"last line cut", string(good) + string(good[:len(good)/2]), 1, "line 2 is cut short"},
		{"newline cut", string(good) + string(good[:len(good)-1]), 2, ""},
		{"middle damaged", string(good) + "{\"schema\":1,\n" + string(good), 2, "line 2 was skipped"},
		{"blank line", string(good) + "\n" + string(good), 2, ""},
		{"unknown kind", `{"schema":1,"kind":"dream"}` + "\n" + string(good), 1, "kind that this version does not know"},
		{"newer schema", `{"schema":99,"kind":"case"}` + "\n" + string(good), 1, "schema 99"},
		{"no schema", `{"kind":"case"}` + "\n" + string(good), 1, "names no schema"},
		{"no lock", `{"schema":1,"kind":"case"}` + "\n" + string(good), 1, "names no lock"},
		{"no experiment", `{"schema":1,"kind":"experiment"}` + "\n" + string(good), 1, "names no experiment"},
		{"sample of nothing", `{"schema":1,"kind":"sample","key":"0-1"}` + "\n" + string(good), 1, "names no experiment"},
		{"no workers", strings.Replace(string(good), `"workers":2`, `"workers":0`, 1), 0, "line 1 was skipped: result: no run measures workers=0/"},
		{"negative hold", strings.Replace(string(good), `"mean":100`, `"mean":-100`, 1), 0, "hold=-100ns-exp in round 4"},
		{"bad histogram", strings.Replace(string(good), `"wait":"HIST`, `"wait":"XXXX`, 1), 0, "histogram"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var run Run
			requireNoError(t, run.read(strings.NewReader(c.file)))
			damage := run.Damage
			if len(run.Results) != c.results {
				t.Errorf("%d results, want %d", len(run.Results), c.results)
			}
			switch {
			case c.damage == "" && len(damage) != 0:
				t.Errorf("damage %q, want none", damage)
			case c.damage != "" && (len(damage) != 1 || !strings.Contains(damage[0], c.damage)):
				t.Errorf("damage %q, want one sentence with %q", damage, c.damage)
			}
		})
	}
}

func TestWriterAndLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, Manifest{Command: []string{"locklab", "run"}, Seed: 7, Rounds: 2, Cases: 1,
		Machine: machine.Environment{OS: "linux", Arch: "amd64", CPU: "Test 9000", GOMAXPROCS: 8}})
	requireNoError(t, err)
	ok := sample()
	ok.Violations = nil
	for _, r := range []*Result{ok, sample()} {
		requireNoError(t, w.Append(Record{Result: r}))
	}
	run, err := Load(dir)
	if err != nil || len(run.Results) != 2 || !run.Manifest.Finished.IsZero() {
		t.Fatalf("before Finish: %v, %+v", err, run)
	}
	requireNoError(t, w.Finish(func(m *Manifest) { m.Finished = time.Unix(9, 0).UTC(); m.Interrupted = true }))
	run, err = Load(dir)
	if err != nil || !run.Manifest.Interrupted || run.Manifest.Finished.Unix() != 9 || run.Manifest.Schema != Schema {
		t.Fatalf("after Finish: %v, %+v", err, run)
	}
	if _, err := Create(dir, Manifest{}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a second run in one directory: %v, want a usage error", err)
	}
	checkBench(t, filepath.Join(dir, BenchName))
}

func checkBench(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	requireNoError(t, err)
	defer f.Close()
	var results int
	in := benchfmt.NewReader(f, name)
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("benchstat cannot read: %v", rec)
		case *benchfmt.Result:
			results++
			if got := string(rec.Name); !strings.HasPrefix(got, "Lock/lock=mcs/workers=2/ranks=4/clients=1/") || !strings.HasSuffix(got, "/hold=100ns-exp-2") {
				t.Errorf("name %q", got)
			}
			if _, ok := rec.Value("acq/s"); !ok {
				t.Errorf("no acq/s in %v", rec.Values)
			}
		}
	}
	if in.Err() != nil || results != 1 {
		t.Errorf("%d results (%v), want 1: the violating one is not a speed", results, in.Err())
	}
	if in.Units().GetBetter("acq/s") != 1 || in.Units().GetBetter("p99-ns/op") != -1 {
		t.Error("the file does not say which way acq/s and p99-ns/op are better")
	}
}

func FuzzDecode(f *testing.F) {
	for _, rec := range []Record{{Result: sample()}, {Finding: finding()}, {Fault: fault()}, {Simulation: simulation()}} {
		f.Add(encodeRecord(f, rec))
	}
	f.Add([]byte(`{"schema":1,"kind":"chaos","scenario":"x","lock":{"name":"y"},"tries":-1,"seen":null}`))
	f.Add([]byte(`{"schema":1,"kind":"sample","experiment":"x","key":"y","values":[1]}`))
	f.Add([]byte(`{"schema":1,"kind":"case","lock":{"name":"x"},"wait":"HISTFAAAAA=="}`))
	f.Add([]byte(`{"schema":1,"kind":"case","lock":{"name":"x"},"owners":"AAAA"}`))
	f.Add([]byte(`{"schema":1,"kind":"case","lock":{"name":"x"},"holds":"AAAA"}`))
	f.Add([]byte(`{"schema":1,"kind":"machine","name":"this","file":{"sockets":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Decode(text)
		if err != nil || r == (Record{}) {
			return
		}
		again, err := Encode(r)
		if err != nil {
			if r.Simulation != nil || r.Machine != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
			return
		}
		same, err := Decode(again)
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if twice, err := Encode(same); err != nil || !bytes.Equal(again, twice) {
			t.Errorf("%s\nbecame\n%s (%v)", again, twice, err)
		}
		if same.Fault != nil {
			faultCells(same.Fault)
		}
	})
}
