//go:build !race

package locktest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// seldomTAS loads and stores in two steps once in many acquisitions.
type seldomTAS struct {
	loadThenStore
	calls atomic.Uint32
}

const seldom = 5000

func (l *seldomTAS) Lock() {
	if l.calls.Add(1)%seldom == 0 {
		l.loadThenStore.Lock()
	} else {
		l.brokenTAS.Lock()
	}
}

// rejected returns the first of the rules that rejects b within stress, or "".
func (b breakage) rejected(t *testing.T, stress time.Duration, rules ...string) string {
	for _, name := range rules {
		v, q := b.variant()
		err := rule(t, name).apply(t.Context(), Subject{Variant: v, Stress: stress})
		q.quit.Store(true)
		if err != nil {
			return name
		}
	}
	return ""
}

// TestStressFindsTheRare: with the environment's time the rules of make stress reject the
// lock.
func TestStressFindsTheRare(t *testing.T) {
	stress, err := stressFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if stress == 0 {
		t.Skip(StressEnv + " says how long to try: make stress sets it")
	}
	b := breakage{name: "seldom", local: shared(func(q *quitter) sync.Locker {
		return &seldomTAS{loadThenStore: loadThenStore{brokenTAS: brokenTAS{q: q}}}
	})}
	const most = 20 // for a machine that is busy with other things
	for run := range most {
		if name := b.rejected(t, stress, "lost-update", "preemption"); name != "" {
			t.Logf("rejected in run %d of %v by the rule %s", 1+run, stress, name)
			return
		}
	}
	t.Errorf("in none of %d runs of %v a rule rejects a lock that fails seldom: a longer %s", most, stress, StressEnv)
}
