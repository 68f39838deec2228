package experiment

import (
	"testing"
	"time"

	"locklab/internal/machine"
)

// measureCAS measures every body under the named placement, or skips.
func measureCAS(t *testing.T, name string, span time.Duration) []*casCell {
	t.Helper()
	for _, p := range placements() {
		if p.name != name {
			continue
		}
		var cells []*casCell
		for _, b := range casBodies {
			c := &casCell{place: p, body: b}
			if err := c.measure(t.Context(), span); err != nil {
				t.Fatal(err)
			}
			cells = append(cells, c)
		}
		return cells
	}
	t.Skipf("no two threads on %s: this process may use the CPUs %v", name, machine.CPUOrder())
	return nil
}

// sound fails the test if c lost anything.
func sound(t *testing.T, c *casCell) {
	t.Helper()
	if c.lost != 0 || c.violated != 0 || c.forgot != 0 || c.stalls != 0 {
		t.Errorf("%s on %s: of %d updates %d lost; of %d entries %d violated, %d increments and %d unlocks lost",
			c.body.name, c.place.name, c.updates, c.lost, c.entered, c.violated, c.forgot, c.stalls)
	}
	if c.updates == 0 || c.entered == 0 {
		t.Errorf("%s on %s: %d updates, %d entries", c.body.name, c.place.name, c.updates, c.entered)
	}
}

// TestOneInstructionLosesNothingOnOneCPU: an interrupt comes between two
// instructions, not into one.
func TestOneInstructionLosesNothingOnOneCPU(t *testing.T) {
	for _, c := range measureCAS(t, "one CPU", 20*time.Millisecond) {
		if c.body.single {
			sound(t, c)
		}
	}
}

// TestOnlyAtomicBodiesSurviveTwoCPUs also proves the counts: they must see the
// broken bodies fail.
func TestOnlyAtomicBodiesSurviveTwoCPUs(t *testing.T) {
	// The threads of a busy machine may not run at once for a while.
	deadline := time.Now().Add(time.Minute)
	for span := 10 * time.Millisecond; ; span *= 2 {
		unseen := ""
		for _, c := range measureCAS(t, "two CPUs", span) {
			if c.body.atomic {
				sound(t, c)
			} else if c.lost == 0 || c.violated+c.forgot+c.stalls == 0 {
				unseen = c.body.name
			}
		}
		if unseen == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was never seen to fail", unseen)
		}
	}
}

// TestHeldLockIsGivenUp: nobody waits for ever for a lost unlock.
func TestHeldLockIsGivenUp(t *testing.T) {
	for _, b := range casBodies {
		g := guarded{word: 1}
		entered, violated := b.lock(&g, 1, 10, 100, 0)
		if entered != 0 || violated != 0 || g.counter != 0 || g.word != 1 {
			t.Errorf("%s: entered a held lock %d times, violated %d: %+v", b.name, entered, violated, g)
		}
	}
}

func TestLockAlone(t *testing.T) {
	for _, b := range casBodies {
		var g guarded
		entered, violated := b.lock(&g, 7, 10, 100, 3)
		if entered != 10 || violated != 0 || g.counter != 10 || g.owner != 7 || g.word != 0 {
			t.Errorf("%s: entered %d, violated %d: %+v", b.name, entered, violated, g)
		}
		if won := b.add(&g.counter, 5); won != 5 || g.counter != 15 {
			t.Errorf("%s: won %d of 5, the counter is %d", b.name, won, g.counter)
		}
	}
}

// TestLostAnswer checks that the answer follows the figures.
func TestLostAnswer(t *testing.T) {
	cell := func(b int, lost, stalls uint64) *casCell {
		body := casBody{name: string(rune('A' + b))}
		return &casCell{place: placement{name: "two CPUs"}, body: body, updates: 1e6, lost: lost, entered: 1e6, stalls: stalls}
	}
	var cells []*casCell
	want := "On two CPUs"
	for i := range casBodies {
		switch i {
		case 0:
			cells = append(cells, cell(i, 5, 1))
			want += " A lost 5 updates per million and its lock failed"
		case 1:
			cells = append(cells, cell(i, 0, 0))
			want += ", B lost none of 1.00 M updates and kept its lock exclusive"
		default:
			cells = append(cells, cell(i, 7, 0))
			want += ", C lost 7 updates per million, and its lock was not seen to fail"
		}
	}
	if got := lostAnswer(cells); got != want+"." {
		t.Errorf("answer is %q, want %q", got, want)
	}
}
