package chaos

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness/oracle"
	"locklab/harness/result"
	redislab "locklab/redislock/lab"
	zklab "locklab/zklock/lab"
)

// TestPublishedCounts: the shipped scenarios exist, and none showed an unexpected anomaly.
func TestPublishedCounts(t *testing.T) {
	locks := result.Each(slices.Concat(redislab.Suite, zklab.Suite), result.Describe)
	fs, err := Published(locks)
	if err != nil || len(fs) == 0 {
		t.Fatalf("%d outcomes, %v", len(fs), err)
	}
	for _, f := range fs {
		if f.Published.Tries != f.Tries || f.Question == "" || f.Lock.Family == "" {
			t.Errorf("%+v", f)
		}
		for h := range f.Seen {
			if !slices.Contains(f.Expected.Anomalies, h) {
				t.Errorf("%s showed %s of %s, which is not expected", f.Scenario, h, f.Lock.Name)
			}
		}
	}
	if PublishedFrom() == "" {
		t.Error("the campaign has no description")
	}
	if none, err := Published(nil); err != nil || len(none) != 0 {
		t.Errorf("%d outcomes of no locks, %v", len(none), err)
	}
}

// TestRecord: a history is ordered by time, then arrival, and keeps the first events.
func TestRecord(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := newRecord(400)
	var want oracle.History
	for i := range 400 {
		e := oracle.Event{At: int64(i/8) - rng.Int64N(20), Worker: i, Kind: oracle.Granted}
		want = append(want, e)
		r.add(e)
		if i%2 == 0 {
			r.add(oracle.Event{Worker: i, Kind: oracle.Told})
			want = append(want, oracle.Event{Worker: i, Kind: oracle.Told})
		}
	}
	want = want[:400]
	want.Sort()
	if !r.cut || r.grants != 400 || len(r.holds) != 200 || r.last == 0 {
		t.Errorf("cut %t, %d grants, %d holders, last granted at %d", r.cut, r.grants, len(r.holds), r.last)
	}
	for _, end := range []int64{math.MaxInt64, 10, -100} {
		some := slices.DeleteFunc(slices.Clone(want), func(e oracle.Event) bool { return e.At > end })
		if got := r.until(end); !slices.Equal(got, some) {
			t.Errorf("up to %d: %d events, want %d in order of time", end, len(got), len(some))
		}
	}
}
