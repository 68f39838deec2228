//go:build !race

package locktest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// seldomTAS looks and takes in two steps, but only once in so many turns: what is
// wrong with it can be seen for some nanoseconds in a tenth of a millisecond.
type seldomTAS struct {
	brokenTAS
	turns atomic.Uint32
}

const seldom = 500

func (l *seldomTAS) Lock() {
	if l.turns.Add(1)%seldom != 0 {
		l.brokenTAS.Lock()
		return
	}
	for l.held.Load() {
		l.q.wait()
	}
	l.held.Store(true)
}

// rejected reports whether r rejects b within stress.
func (b breakage) rejected(t *testing.T, r Rule, stress time.Duration) bool {
	v, q := b.variant()
	defer q.quit.Store(true)
	return r.apply(t.Context(), Subject{Variant: v, Stress: stress}) != nil
}

// TestStressFindsTheRare shows what make stress is for: a lock that the rule of
// preemption lets pass in most runs of DefaultStress, and rejects in nearly every
// one of the time that the environment gives.
func TestStressFindsTheRare(t *testing.T) {
	stress, err := stressFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if stress == 0 {
		t.Skip(StressEnv + " says how long to try: make stress sets it")
	}
	r := rule(t, "preemption")
	b := breakage{name: "seldom", local: shared(func(q *quitter) sync.Locker { return &seldomTAS{brokenTAS: brokenTAS{q: q}} })}
	const most = 10 // on a machine that is busy with other things
	for run := range most {
		if b.rejected(t, r, stress) {
			t.Logf("rejected in run %d of %v", 1+run, stress)
			return
		}
	}
	t.Errorf("in none of %d runs of %v the rule rejects a lock that fails seldom: a longer %s", most, stress, StressEnv)
}
