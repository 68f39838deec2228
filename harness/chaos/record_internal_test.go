package chaos

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
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

// TestRecord: a history does not depend on the memory limit, and its file has no name.
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

func TestRecordNotWhole(t *testing.T) {
	h := alternating(40)
	for _, i := range []int{0, 9, 10, len(h)/2 - 1, len(h)/10*10 - 1} { // the last is the last of the file
		r := record{dir: t.TempDir(), most: len(h), room: 9 * eventBytes}
		for _, e := range h {
			e.Text = ""
			r.add(e)
		}
		if err := r.lose(i); err != nil {
			t.Fatal(err)
		}
		if got, err := r.all(); err == nil {
			t.Errorf("without event %d: %d events of %d and no error", i, len(got), len(h))
		}
		r.close()
	}
	r := record{dir: filepath.Join(t.TempDir(), "gone"), most: len(h), room: 1}
	for _, e := range h {
		r.add(e)
	}
	if got, err := r.all(); err == nil || len(got) > 0 {
		t.Errorf("a directory that is gone: %d events, %v", len(got), err)
	}
}

// TestReplay: events are ordered by time, then arrival, however memory and file split them.
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

func TestReplayMemory(t *testing.T) {
	const events, room = 50_000, 1 << 18
	r := record{dir: t.TempDir(), most: events, room: room}
	defer r.close()
	for i := range events {
		r.add(oracle.Event{At: int64(i), Worker: i % 8, Kind: oracle.Failed, Text: "why"})
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, seen := heap(), int64(0), 0
	p := r.replay(math.MaxInt64)
	for range p.events {
		if seen++; seen%(events/4) == 1 {
			most = max(most, heap()-before)
		}
	}
	t.Logf("%d events in %d parts of a file of %d bytes take %d bytes", seen, len(r.parts), r.size(), most)
	if limit := int64(len(r.parts)) * 128 << 10; seen != events || p.err != nil || most > limit || r.size() < 4*room {
		t.Errorf("%d events, %v: %d bytes of %d in memory, want %d at most", seen, p.err, most, r.size(), limit)
	}
}

func TestRecordMemory(t *testing.T) {
	const events, room = 100_000, 1 << 20
	taken := func(room int) (heap int64, r *record) {
		r = &record{dir: t.TempDir(), most: events, room: room}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range events {
			r.add(oracle.Event{At: int64(i), Worker: i % 8, Kind: oracle.Failed, Text: strings.Repeat("x", 1+i%64)})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc), r
	}
	whole, all := taken(1 << 40)
	bounded, r := taken(room)
	defer all.close()
	defer r.close()
	t.Logf("%d events take %d bytes in memory, and %d with room for %d: the file has %d", events, whole, bounded, room, r.size())
	if bounded > 4*room || whole < 8*room {
		t.Errorf("%d events take %d bytes in memory, and %d with room for %d", events, whole, bounded, room)
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(r)
}
