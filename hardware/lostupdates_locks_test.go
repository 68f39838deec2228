package hardware

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/leaktest"
)

func local(name string, status harness.Status, new func() sync.Locker) *harness.Variant {
	return &harness.Variant{Name: name, Status: status, Local: func(harness.Setup) harness.Local { return harness.Shared(new()) }}
}

func newMutex() sync.Locker { return new(sync.Mutex) }

type free struct{}

func (free) Lock()   {}
func (free) Unlock() {}

// TestLockCellsSeeABrokenLock: a lock that lets all in loses increments even on one CPU.
func TestLockCellsSeeABrokenLock(t *testing.T) {
	if raceEnabled {
		t.Skip("the guarded counter of a broken lock is a data race")
	}
	cells, _ := newLockCells([]*harness.Variant{local("free", "", func() sync.Locker { return free{} })}, lockPlacements(placements()))
	for _, c := range cells {
		measureLonger(t, func(span time.Duration) string {
			if err := c.measure(t.Context(), span); err != nil {
				t.Fatal(err)
			}
			if seen := total(c.tallies); seen.forgot == 0 || seen.violated == 0 {
				return c.place.name
			}
			return ""
		})
		if got := locksSentence([]*lockCell{c}); !strings.Contains(got, "free ("+c.place.name+") lost") {
			t.Errorf("the answer hides it: %q", got)
		}
	}
	if len(cells) < 2 {
		t.Errorf("only %d places", len(cells))
	}
}

func TestLockCellsAcceptAMutex(t *testing.T) {
	cells, notes := newLockCells([]*harness.Variant{local("mutex", "", newMutex)}, lockPlacements(placements()))
	for _, c := range cells {
		if err := c.measure(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if seen := total(c.tallies); seen.broken() || seen.entered == 0 || len(c.ns) != 1 || c.ns[0] <= 0 {
			t.Errorf("on %s: %+v, %v ns", c.place.name, seen, c.ns)
		}
	}
	if got := locksSentence(cells); !strings.HasPrefix(got, "No lock of the lab lost") {
		t.Errorf("answer is %q", got)
	}
	if len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
}

func TestLocksLeftOut(t *testing.T) {
	pair := local("pair", harness.Correct, newMutex)
	pair.Traits.MaxWorkers = 2
	absent := local("absent", harness.Correct, nil)
	absent.Unavailable = "a system call of Linux"
	remote := &harness.Variant{Name: "remote"}
	locks := []*harness.Variant{local("good", harness.Correct, newMutex), local("bad", harness.Broken, newMutex),
		local("empty", harness.Control, newMutex), local("old", harness.Historical, newMutex), remote, absent, pair}
	two := placement{name: "two", cpus: []int{0, 1}}
	three := placement{name: "three", cpus: []int{0, 1, 2}}
	cells, notes := newLockCells(locks, []placement{two, three})
	var ran []string
	for _, c := range cells {
		ran = append(ran, c.lock.Name+" on "+c.place.name)
		c.tallies, c.ns = []tally{{entered: 7}}, []float64{1}
	}
	if want := []string{"good on two", "good on three", "pair on two"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	if got := strings.Join(notes, "; "); got != "bad is left out: it is broken; empty is left out: it is control; old is left out: it is historical; "+
		"remote is left out: it is kept by servers; absent is left out: a system call of Linux; pair is left out on three: it serves 2 workers, not 3" {
		t.Errorf("notes are %q", got)
	}
	tables := lockTables(cells)
	if len(tables) != 2 || len(tables[0].Rows) != 2 || len(tables[1].Rows) != 1 {
		t.Errorf("tables are %+v", tables)
	}
	requireTables(t, tables...)
}

func TestLockCellEndsEarly(t *testing.T) {
	cells, _ := newLockCells([]*harness.Variant{local("mutex", "", newMutex)}, lockPlacements(placements()))
	for _, c := range cells {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		err := c.measure(ctx, time.Hour)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || len(c.tallies) != 0 {
			t.Errorf("on %s: error %v, %d tallies", c.place.name, err, len(c.tallies))
		}
	}
}

type door chan struct{}

func (d door) Lock()   { <-d }
func (d door) Unlock() {}

func TestStuckLockIsGivenUp(t *testing.T) {
	leaktest.All(t)
	d := make(door)
	place := placement{name: "one thread", cpus: []int{unbound}}
	s := newSection(local("stuck", "", func() sync.Locker { return d }), harness.Setup{Workers: 1})
	if err := s.play(t.Context(), place, time.Millisecond, 10*time.Millisecond); !errors.Is(err, errStuck) {
		t.Errorf("error is %v", err)
	}
	close(d) // lets the thread end
}
