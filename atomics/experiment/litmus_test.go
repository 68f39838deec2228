package experiment

import (
	"testing"
	"time"
)

// pairApart returns a crew of two threads on two CPUs, or skips.
func pairApart(t *testing.T) *crew {
	t.Helper()
	if err := litmusAvailable(); err != nil {
		t.Skip(err)
	}
	places := placements()
	c, err := newCrew(places[len(places)-1].cpus[:]...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// seenWithin plays until play counts something, for at most a minute: on a busy
// machine the two threads may not run at once for a while.
func seenWithin(play func() uint64) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if play() > 0 {
			return true
		}
	}
	return false
}

// TestLitmus: what x86 allows is seen, which also proves that the count sees
// it, and what it forbids is not.
func TestLitmus(t *testing.T) {
	c := pairApart(t)
	a := new(arena)
	for _, test := range litmusTests {
		if test.allowed {
			if !seenWithin(func() uint64 { return a.play(c, test) }) {
				t.Errorf("%s: never seen", test.name)
			}
			continue
		}
		for range 20 {
			if n := a.play(c, test); n != 0 {
				t.Errorf("%s: seen in %d of %d turns", test.name, n, turnsPerStep)
			}
		}
	}
}

func TestPetersonNeedsAFence(t *testing.T) {
	c := pairApart(t)
	for _, lock := range petersonLocks {
		enter := func() uint64 {
			_, violated := enterPeterson(c, lock)
			return violated
		}
		if !lock.sound {
			if !seenWithin(enter) {
				t.Errorf("%s: never two inside", lock.name)
			}
			continue
		}
		for range 30 {
			if n := enter(); n != 0 {
				t.Errorf("%s: two inside %d times", lock.name, n)
			}
		}
	}
}

// TestLitmusThreadsGiveUp: a thread whose partner does not come returns, or it
// would stop a garbage collection for ever.
func TestLitmusThreadsGiveUp(t *testing.T) {
	for _, test := range litmusTests {
		for _, play := range test.threads {
			a := new(arena)
			next := play(&a.x[0], &a.y[0], &a.seen[0][0], &a.at[0].v, &a.at[1].v, 1, 10)
			if next != 1 || a.at[0].v != 1 {
				t.Errorf("%s: alone it came to turn %d and stands at %d", test.name, next, a.at[0].v)
			}
			a.at[1].v = 4 // as if the partner had come to turn 4
			if next := play(&a.x[0], &a.y[0], &a.seen[0][0], &a.at[0].v, &a.at[1].v, 1, 10); next != 5 {
				t.Errorf("%s: came to turn %d, want 5", test.name, next)
			}
		}
	}
	for _, lock := range petersonLocks {
		var s guarded
		mine, theirs := uint64(0), uint64(1) // the other is inside
		if entered, _ := lock.run(&s, &mine, &theirs, 1, 10, 100, 0); entered != 0 || mine != 0 {
			t.Errorf("%s: entered %d times, left its flag at %d", lock.name, entered, mine)
		}
	}
}

func TestRelaxedOutcomes(t *testing.T) {
	for _, test := range []struct {
		name    string
		relaxed func(seen0, seen1 uint64) bool
		want    [][2]uint64 // all outcomes that are relaxed
		of      [2]uint64   // the outcomes of each thread are below this
	}{
		{"neitherSaw", neitherSaw, [][2]uint64{{0, 0}}, [2]uint64{2, 2}},
		{"bothSaw", bothSaw, [][2]uint64{{1, 1}}, [2]uint64{2, 2}},
		{"flagWithoutData", flagWithoutData, [][2]uint64{{0, 1}}, [2]uint64{1, 4}},
	} {
		var got [][2]uint64
		for a := range test.of[0] {
			for b := range test.of[1] {
				if test.relaxed(a, b) {
					got = append(got, [2]uint64{a, b})
				}
			}
		}
		if len(got) != len(test.want) || got[0] != test.want[0] {
			t.Errorf("%s: relaxed are %v, want %v", test.name, got, test.want)
		}
	}
}
