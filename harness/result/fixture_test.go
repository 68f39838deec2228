package result

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/internal/require"
)

const window = 400 * time.Millisecond

var servedLock = Lock{Name: "queue", Doc: "made up", Paper: "none", Family: "redis",
	Traits: harness.Traits{Needs: "redis", Fenced: true}}

// drawHolds returns ordered holds by random workers, with rising tokens and no overlap.
func drawHolds(seed uint64, workers int) (out []harness.Hold) {
	rnd := rand.New(rand.NewPCG(seed, 9))
	free := make([]int64, workers) // since when each worker wants it
	now, token := int64(0), uint64(100)
	for {
		w := rnd.IntN(workers)
		if rnd.IntN(3) == 0 && len(out) > 0 {
			w = out[len(out)-1].Worker // takes it back
		}
		granted := max(now, free[w]) + 20_000 + rnd.Int64N(50_000)
		if granted >= int64(window) {
			return out
		}
		h := harness.Hold{Worker: w, Requested: free[w], Acquired: granted, Releasing: granted + 50_000 + rnd.Int64N(200_000), Token: token}
		out = append(out, h)
		now, token, free[w] = h.Releasing, token+1+rnd.Uint64N(3), h.Releasing+rnd.Int64N(10_000)
	}
}

func measureHolds(w harness.Workload, holds []harness.Hold, first, workers int) *Result {
	r := &Result{Lock: servedLock, Workload: w, Elapsed: window, Workers: make([]uint64, workers), Overlap: 1, SampleEvery: 1,
		Clock: "monotonic", ClockFloor: 20, ClockStep: 1, Started: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC),
		BucketCounts: make([]uint32, workers*int(window/harness.BucketLength)), Wire: &harness.Counts{}, RoundTrip: 50_000,
		Unserved: 1}
	var wait, handover, passed Recorder
	for i, h := range holds {
		h.Worker -= first
		r.Ops++
		r.Workers[h.Worker]++
		wait.Record(h.Acquired - h.Requested)
		r.Hold.Add(h.Releasing - h.Acquired)
		r.Owners = append(r.Owners, uint16(h.Worker))
		if i > 0 && holds[i-1].Worker-first != h.Worker {
			r.Handovers++
			handover.Record(h.Acquired - holds[i-1].Releasing)
			passed.Record(h.Acquired - h.Requested)
		}
		if s := int(h.Releasing/int64(harness.BucketLength))*workers + h.Worker; s < len(r.BucketCounts) {
			r.BucketCounts[s]++
		}
	}
	if workers < 2 {
		r.BucketCounts = nil
	}
	r.Burst, r.Wait, r.Handover, r.HandoverWait = len(r.Owners), wait.Snapshot(), handover.Snapshot(), passed.Snapshot()
	r.CPU = ClientCost{Time: time.Duration(r.Ops), Voluntary: int64(r.Ops), Involuntary: 3 * int64(r.Ops), Allocs: 2 * r.Ops}
	r.Wire.Requests, r.Wire.Notifications = 3*r.Ops, r.Ops
	return r
}

type seat struct {
	host, clock   string
	ahead         int64 // of its clock before the common one
	offset, error int64 // as reported
}

func seatAt(host string, ahead, miss, error int64) seat {
	return seat{host, host + "/boot", ahead, -ahead + miss, error}
}

func oneClock() []seat {
	return []seat{{"a", "k", 7e9, 1, 900}, {"a", "k", 7e9, 2, 900}, {"b", "k", 7e9, -3, 900}, {"b", "k", 7e9, 4, -1}}
}

func splitHolds(w harness.Workload, holds []harness.Hold, seats []seat) (parts []*Result) {
	for i, s := range seats {
		first, workers := w.Share(i)
		var own []harness.Hold
		for _, h := range holds {
			if h.Worker >= first && h.Worker < first+workers {
				own = append(own, h)
			}
		}
		r := measureHolds(w, own, first, workers)
		zero := s.ahead + 1_000*int64(i) // start of its process
		k := Rank{Rank: i, Host: s.host, PID: 100 + i, First: first, Workers: workers, Ops: r.Ops, Clock: s.clock,
			Zero: zero, Opened: s.ahead, Closed: s.ahead + int64(window), Offset: s.offset, Error: s.error}
		for _, h := range own {
			h.Worker -= first
			h.Requested, h.Acquired, h.Releasing = h.Requested+s.ahead-zero, h.Acquired+s.ahead-zero, h.Releasing+s.ahead-zero
			r.Holds = append(r.Holds, h)
		}
		r.Ranks = []Rank{k}
		parts = append(parts, r)
	}
	return parts
}

func workload(workers, ranks int) harness.Workload {
	return harness.Workload{Workers: workers, Ranks: ranks, Hold: harness.Span{Mean: 100 * time.Microsecond}, Window: window}
}

func runs(seats []seat, of ...[]*Result) (parts []*Run) {
	for i, s := range seats {
		p := &Run{Dir: fmt.Sprintf("part-%d", i), Manifest: Manifest{
			Schema: Schema, Command: []string{"locklab", "run", fmt.Sprint("--rank=", i)}, Commit: "0123abc", Binary: "b", Seed: 7, Rounds: 1, Cases: len(of),
			Rank: i, Ranks: len(seats), Job: "j", Flags: map[string]string{"locks": "queue", "rank": fmt.Sprint(i)},
			Started: time.Date(2026, 11, 23, 1, 2, 10-i, 0, time.UTC), Finished: time.Date(2026, 11, 23, 1, 3, i, 0, time.UTC),
			Versions: map[string]string{"redis": "8"},
			Machine:  machine.Environment{Host: s.host, OS: "linux", Arch: "amd64", CPU: "Made-up CPU", CPUs: 2, Go: "go1"}}}
		for _, rs := range of {
			p.Results = append(p.Results, rs[i])
		}
		parts = append(parts, p)
	}
	return parts
}

func shuffle[T any](seed uint64, xs []T) []T {
	xs = slices.Clone(xs)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
	return xs
}

func encodeRecord(t testing.TB, rec Record) []byte {
	t.Helper()
	line, err := Encode(rec)
	requireNoError(t, err)
	return line
}

func decodeLine(t testing.TB, line []byte) Record {
	t.Helper()
	rec, err := Decode(line)
	requireNoError(t, err)
	return rec
}

func createRun(t testing.TB, dir string, m Manifest) *Writer {
	t.Helper()
	w, err := Create(dir, m)
	requireNoError(t, err)
	return w
}

func finishRun(t testing.TB, w *Writer) {
	t.Helper()
	requireNoError(t, w.Finish(func(*Manifest) {}))
}

func loadRun(t testing.TB, dir string) *Run {
	t.Helper()
	run, err := Load(dir)
	requireNoError(t, err)
	return run
}

func mergeRuns(t testing.TB, parts []*Run) *Run {
	t.Helper()
	run, err := Merge(parts)
	requireNoError(t, err)
	return run
}

func mergeOne(t testing.TB, name string, parts []*Run) *Result {
	t.Helper()
	run := mergeRuns(t, parts)
	if len(run.Results) != 1 {
		t.Fatalf("%s: %d results, lost %v", name, len(run.Results), run.Manifest.Lost)
	}
	return run.Results[0]
}

func readFiles(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	requireNoError(t, err)
	files := make(map[string]string)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		requireNoError(t, err)
		files[e.Name()] = string(text)
	}
	return files
}

var requireNoError = require.NoError
