package lab

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

// The size of a run of an hour: 1000 cases in 10 rounds.
const (
	manyLocks     = 40
	manyWorkloads = 25
	manyRounds    = 10
)

// BenchmarkReport10k reports 10,000 results in a process, within 20 s and 1024 MiB on two
// processors.
func BenchmarkReport10k(b *testing.B) {
	dir := writeMany(b, manyRounds)
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var most int64
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.Command(exe, "report", dir)
		cmd.Env = append(os.Environ(), asMain+"=1")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v: %s", err, said.String())
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			most = max(most, usage.Maxrss) // KiB; bytes on Darwin
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(most)/1024, "MiB-max")
	if info, err := os.Stat(filepath.Join(dir, reportName)); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB-report")
	}
}

// TestMemoryOfRun: the directing process grows only by a number per result.
func TestMemoryOfRun(t *testing.T) {
	real, err := result.Load("../reports/testdata/run")
	if err != nil {
		t.Fatal(err)
	}
	out, err := result.Create(filepath.Join(t.TempDir(), "run"), result.Manifest{})
	if err != nil {
		t.Fatal(err)
	}
	m, show := measuring{program: program(), out: out, stderr: io.Discard}, newProgress(io.Discard)
	heap := func(results int) uint64 {
		for i := range results {
			r := *real.Results[0]
			r.Round, r.Wait, r.Handover, r.Owners = i, nil, nil, nil // quick to write
			p := measure.Progress{Case: measure.Case{Lock: &harness.Variant{Name: r.Lock.Name}, Workload: r.Workload}, Round: i, Result: &r}
			if err := m.keep(p); err != nil {
				t.Fatal(err)
			}
			show.update(p)
		}
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	const results = 3000
	before := heap(300)
	after := heap(results)
	if grown := int64(after) - int64(before); grown > 64*results {
		t.Errorf("after %d more results the heap has grown by %d bytes, %d a result", results, grown, grown/results)
	}
	if err := out.Finish(func(*result.Manifest) {}); err != nil {
		t.Fatal(err)
	}
}

func writeMany(tb testing.TB, rounds int) (dir string) {
	tb.Helper()
	real, err := result.Load("../reports/testdata/run")
	if err != nil {
		tb.Fatal(err)
	}
	var local []*harness.Result
	for _, r := range real.Results {
		if r.Lock.Traits.Needs == "" && len(r.Violations) == 0 && len(r.Wait) > 0 {
			local = append(local, r)
		}
	}
	dir = filepath.Join(tb.TempDir(), "many")
	m := real.Manifest
	m.Rounds, m.Cases = rounds, manyLocks*manyWorkloads
	out, err := result.Create(dir, m)
	if err != nil {
		tb.Fatal(err)
	}
	for round := range rounds {
		for lock := range manyLocks {
			for load := range manyWorkloads {
				r := *local[(lock+7*load+13*round)%len(local)]
				r.Lock.Name = fmt.Sprintf("lock%d", lock)
				r.Workload.Workers = 1 << (load % 5)
				r.Workload.Hold.Mean = time.Duration(load/5) * 100 * time.Nanosecond
				r.Workers = make([]uint64, r.Workload.Workers)
				for i := range r.Workers {
					r.Workers[i] = r.Ops / uint64(len(r.Workers))
				}
				r.Round = round
				if err := out.Append(&r); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	if err := out.Finish(func(m *result.Manifest) { m.Finished = m.Started }); err != nil {
		tb.Fatal(err)
	}
	return dir
}
