package result

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

func TestRates(t *testing.T) {
	result := func(lock string, workers, round int, ops uint64) *harness.Result {
		return &harness.Result{Lock: harness.Lock{Name: lock, Doc: "long", Family: harness.Spin}, Round: round,
			Workload: harness.Workload{Workers: workers, Hold: harness.Span{Mean: 100}}, Elapsed: 2 * time.Second, Ops: ops, Handovers: ops / 4}
	}
	bad := result("bad", 1, 0, 100)
	bad.Violations = []harness.Violation{{Rule: "exclusion", Count: 1}}
	run := &Run{Manifest: Manifest{Rounds: 3, Command: []string{"locklab", "run"}}, Results: []*harness.Result{
		result("a", 2, 0, 123_456), result("a", 2, 2, 200_000), result("b", 1, 1, 24), bad, result("bad", 1, 1, 100),
	}}
	blocks := harness.Blocks{Process: 7, Elapsed: []int64{1e9, 5e8}, Ops: []uint64{500, 400}, Handovers: []uint64{10, 20}}
	run.Results[1].Blocks = &blocks
	var out bytes.Buffer
	if err := WriteRates(&out, run); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRates(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 3 || got.Manifest.Rounds != 3 || len(got.Manifest.Command) != 2 {
		t.Fatalf("got %d results of %+v, want 3", len(got.Results), got.Manifest)
	}
	for i, want := range []struct {
		lock      string
		round     int
		rate      float64
		handovers float64
	}{{"a", 0, 61728, 15432}, {"a", 2, 100_000, 25_000}, {"b", 1, 12, 0}} {
		r := got.Results[i]
		if s := r.Elapsed.Seconds(); r.Lock.Name != want.lock || r.Round != want.round || float64(r.Ops)/s != want.rate || float64(r.Handovers)/s != want.handovers {
			t.Errorf("result %d: %s, round %d, %v and %v a second; want %+v", i, r.Lock.Name, r.Round, float64(r.Ops)/s, float64(r.Handovers)/s, want)
		}
	}
	if b := got.Results[1].Blocks; b == nil || !b.Valid() || b.Process != 7 || !slices.Equal(b.Ops, []uint64{500_000, 800_000}) || !slices.Equal(b.Handovers, []uint64{10_000, 40_000}) || got.Results[0].Blocks != nil {
		t.Errorf("blocks %+v, want the rates of %+v", b, blocks)
	}
	if _, err := ReadRates(bytes.NewReader([]byte("{}\n{"))); err == nil {
		t.Error("a line that is cut short was read")
	}
}
