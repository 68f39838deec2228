package chaos

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"locklab/harness/oracle"
)

func alternating(n int) (h oracle.History) {
	at := int64(1)
	say := func(worker int, kind oracle.EventKind, token int, text string) {
		h = append(h, oracle.Event{At: at, Worker: worker, Kind: kind, Token: uint64(token), Taken: kind == oracle.Wrote, Text: text})
		at += int64(time.Millisecond)
	}
	for i := range n {
		w := i % 2
		say(w, oracle.Asked, 0, "")
		if i%5 == 4 {
			say(w, oracle.Failed, 0, fmt.Sprintf("a \"reason\" \x01 <%d>", i))
			continue
		}
		say(w, oracle.Granted, i+1, "")
		say(w, oracle.Wrote, i+1, "")
		say(w, oracle.Releasing, i+1, "")
		say(w, oracle.Released, i+1, "")
	}
	return h
}

// TestRecord checks that a history does not depend on the memory limit, that the limit is
// kept, and that its file has no name.
func TestRecord(t *testing.T) {
	want := alternating(500)
	rules := oracle.Rules{Fenced: true}
	sound := oracle.Judge(want, rules)
	if len(sound.Harms()) > 0 {
		t.Fatalf("the history shows %v", sound.Harms())
	}
	for _, room := range []int{0, 1, eventBytes, 10 * eventBytes, 3001, 1 << 30} {
		dir := t.TempDir()
		r := record{dir: dir, most: len(want), room: room}
		for i, e := range want {
			r.add(e)
			kept := 0
			for _, e := range r.recent {
				kept += eventBytes + len(e.Text)
			}
			if kept > room {
				t.Fatalf("room for %d: %d bytes in memory after %d events", room, kept, i+1)
			}
			if (r.last == 0) != (i == 0) || r.holds[e.Worker] != (e.Kind == oracle.Granted || e.Kind == oracle.Wrote) {
				t.Fatalf("after %+v: granted last at %d, held %v", e, r.last, r.holds)
			}
		}
		if in := r.spilled > 0; in != (room < 1<<30) || r.cut {
			t.Errorf("room for %d: %d events of %d in a file", room, r.spilled, len(want))
		}
		got, err := r.all()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("room for %d: %d events, %v; want %d", room, len(got), err, len(want))
		}
		if j := oracle.Judge(got, rules); !reflect.DeepEqual(j, sound) {
			t.Errorf("room for %d: %+v", room, j)
		}
		if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) > 0 {
			t.Errorf("room for %d: left in the directory: %q, %v", room, names, err)
		}
		r.add(oracle.Event{Kind: oracle.Asked})
		if got, err := r.all(); !r.cut || err != nil || len(got) != len(want) {
			t.Errorf("room for %d: an event more than fits: cut %t, %d events, %v", room, r.cut, len(got), err)
		}
		f := r.file
		r.close()
		if f != nil && f.Close() == nil {
			t.Errorf("room for %d: the file was open after close", room)
		}
	}
}

// TestReplay checks the order of events, by time and then by arrival, for any split
// between file and memory, up to the requested moment.
func TestReplay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, room := range []int{0, 3 * eventBytes, 50 * eventBytes, 1 << 30} {
		r := record{dir: t.TempDir(), most: 1000, room: room}
		var want oracle.History
		for i := range 400 {
			e := oracle.Event{At: int64(i/8) - rng.Int64N(20), Worker: i, Kind: oracle.Asked}
			want = append(want, e)
			r.add(e)
		}
		want.Sort()
		for _, end := range []int64{math.MaxInt64, 30, -100} {
			some := slices.DeleteFunc(slices.Clone(want), func(e oracle.Event) bool { return e.At > end })
			p := r.replay(end)
			var got oracle.History
			for e := range p.events {
				got = append(got, *e)
			}
			if p.err != nil || !slices.Equal(got, some) {
				t.Errorf("room for %d, up to %d: %d events, %v; want %d in order of time", room, end, len(got), p.err, len(some))
			}
		}
		r.close()
	}
}
