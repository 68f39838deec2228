package lab

import (
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

// TestMemoryOfRun: the directing process grows only by a number per result.
func TestMemoryOfRun(t *testing.T) {
	real := requireRun(t, "../reports/testdata/run")
	out, err := result.Create(filepath.Join(t.TempDir(), "run"), result.Manifest{})
	requireNoError(t, err)
	m, show := measuring{program: program(), out: out, stderr: io.Discard}, new(Program).newProgress(io.Discard, 0)
	heap := func(results int) uint64 {
		for i := range results {
			r := *real.Results[0]
			r.Round, r.Wait, r.Handover, r.Owners = i, nil, nil, nil // quick to write
			p := measure.Progress{Case: measure.Case{Lock: &harness.Variant{Name: r.Lock.Name}, Workload: r.Workload}, Round: i, Result: &r}
			requireNoError(t, m.keep(p))
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
	requireNoError(t, out.Finish(func(*result.Manifest) {}))
}
