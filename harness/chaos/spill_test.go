package chaos_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/oracle"
	"locklab/internal/leaktest"
)

func scripted(wrong harness.Harm, then func(s *chaos.Subject)) chaos.Scenario {
	return chaos.Scenario{
		Name: "scripted", Deadline: time.Minute,
		Try: func(_ context.Context, t *chaos.Try) {
			s, at := t.Subjects[0], t.Now()-int64(time.Second)
			kinds := []oracle.EventKind{oracle.Asked, oracle.Granted, oracle.Wrote, oracle.Releasing, oracle.Released}
			for i := range 1000 {
				for n, kind := range kinds {
					w := i % 2
					if wrong == harness.TwoHolders && i == 500 && n == 3 { // the next one is granted it before
						chaos.Record(s, oracle.Event{At: at, Worker: 1 - w, Kind: oracle.Asked})
						chaos.Record(s, oracle.Event{At: at, Worker: 1 - w, Kind: oracle.Granted, Token: uint64(i + 1)})
					}
					at += int64(time.Microsecond)
					token := uint64(i + 1)
					if wrong == harness.TokenFell && i == 500 {
						token = 1
					}
					chaos.Record(s, oracle.Event{At: at, Worker: w, Kind: kind, Token: token, Taken: token > uint64(i)})
				}
			}
			if then != nil {
				then(s)
			}
		},
	}
}

// TestTokenFell: a token that fell is one harm; the search adds no other.
func TestTokenFell(t *testing.T) {
	t.Parallel()
	r := try(t, scripted(harness.TokenFell, nil), chaos.Plan{}, "fenced")["fenced"]
	if want := map[harness.Harm]int{harness.TokenFell: 1}; !maps.Equal(r.Seen, want) {
		t.Errorf("seen %v, want %v: %q", r.Seen, want, r.Notes)
	}
}

// TestSpilled: a judgement does not depend on memory; an incomplete history is not judged.
func TestSpilled(t *testing.T) {
	t.Parallel()
	leaktest.Own(t)
	for _, wrong := range []harness.Harm{"", harness.TwoHolders} {
		dir := t.TempDir()
		whole := try(t, scripted(wrong, nil), chaos.Plan{Dir: t.TempDir()}, "free")["free"]
		inFile := 0
		tiny := try(t, scripted(wrong, func(s *chaos.Subject) { inFile = chaos.InFile(s) }), chaos.Plan{Memory: 1, Dir: dir}, "free")["free"]
		if inFile < 5000 || tiny.Tries != 1 || !maps.Equal(tiny.Seen, whole.Seen) || (tiny.Seen[harness.TwoHolders] > 0) != (wrong != "") {
			t.Errorf("%q: seen %v with %d events in a file, and %v with all in memory", wrong, tiny.Seen, inFile, whole.Seen)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != len(tiny.Histories) {
			t.Errorf("%v in the directory, %v, and histories %q", left, err, tiny.Histories)
		}
	}
	// Without the lost release, the next grant looks like a second holder.
	lost := try(t, scripted("", func(s *chaos.Subject) { chaos.Check(chaos.Lose(s, 2503)) }), chaos.Plan{Memory: 1}, "free")["free"]
	if lost.Tries != 0 || lost.Failed == 0 || len(lost.Seen) > 0 || !strings.Contains(lost.Skipped, "5000 events of a history were written to its file, and it has 4999") {
		t.Errorf("with an event lost: %+v", lost)
	}
	full := try(t, scripted("", nil), chaos.Plan{Memory: 1, Dir: filepath.Join(t.TempDir(), "gone")}, "free")["free"]
	if full.Tries != 0 || full.Failed == 0 || len(full.Seen) > 0 {
		t.Errorf("with no place for the file: %+v", full)
	}
}
