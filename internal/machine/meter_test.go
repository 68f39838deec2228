package machine

import (
	"math"
	"testing"
	"testing/fstest"
	"time"
)

func TestMeter(t *testing.T) {
	files := fstest.MapFS{}
	set := func(idle, steal, load string) {
		files["proc/stat"] = &fstest.MapFile{Data: []byte("cpu0 100 0 0 " + idle + " 0 0 0 " + steal + " 0 0\n")}
		files["proc/loadavg"] = &fstest.MapFile{Data: []byte(load + " 0.10 0.20 1/100 4242\n")}
	}
	set("0", "0", "0.50")
	begin := time.Unix(100, 0)
	m := &Meter{fsys: files, cpus: []int{0}, share: math.NaN()}
	m.mark(begin)
	for _, c := range []struct {
		idle, steal, load string
		after             time.Duration
		wantSteal         float64
		wantLoad          float64
	}{
		{"75", "25", "1.50", time.Second, 0.25, 1.5}, // the first reading does not wait
		{"75", "125", "2", 2 * time.Second, 0.25, 2}, // too soon for another
		{"75", "125", "2", 7 * time.Second, 1, 2},
		{"175", "125", "x", 13 * time.Second, 0, math.NaN()},
	} {
		set(c.idle, c.steal, c.load)
		steal, load := m.read(begin.Add(c.after))
		if steal != c.wantSteal || load != c.wantLoad && !math.IsNaN(c.wantLoad) || math.IsNaN(load) != math.IsNaN(c.wantLoad) {
			t.Errorf("after %v: steal %v, load %v, want %v and %v", c.after, steal, load, c.wantSteal, c.wantLoad)
		}
	}
	m = &Meter{fsys: fstest.MapFS{}, cpus: []int{0}, share: math.NaN()}
	m.mark(begin)
	if steal, load := m.read(begin.Add(time.Hour)); !math.IsNaN(steal) || !math.IsNaN(load) {
		t.Errorf("a system that tells nothing: steal %v, load %v", steal, load)
	}
}

func TestBinaryHash(t *testing.T) {
	if h := BinaryHash(); len(h) != 64 || h != BinaryHash() {
		t.Errorf("the hash of this program is %q, then %q", h, BinaryHash())
	}
}
