package chaos

import (
	"slices"
	"testing"

	"locklab/harness"
	redislab "locklab/redislock/lab"
	zklab "locklab/zklock/lab"
)

// TestPublishedCounts: the shipped scenarios exist, and none showed an unexpected anomaly.
func TestPublishedCounts(t *testing.T) {
	var locks []harness.Lock
	for _, v := range slices.Concat(redislab.Suite, zklab.Suite) {
		locks = append(locks, v.Describe())
	}
	fs, err := Published(locks)
	if err != nil || len(fs) == 0 {
		t.Fatalf("%d outcomes, %v", len(fs), err)
	}
	for _, f := range fs {
		if f.Published != f.Tries || f.Question == "" || f.Lock.Family == "" {
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
