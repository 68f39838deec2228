package measure

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

var everySection = []harness.Section{"lines:1", "lines:16", harness.SectionMap, harness.SectionLRU, harness.SectionLog}

func TestStructures(t *testing.T) {
	const writes = 5000
	for _, s := range everySection {
		t.Run(s.String(), func(t *testing.T) {
			data, rng := newStructure(s), machine.NewRandom(1)
			if n, flaw := data.audit(); n != 0 || flaw != "" || !data.read(rng) {
				t.Errorf("new it shows %d writes: %s", n, flaw)
			}
			for i := range writes {
				at, value := data.find(rng)
				data.write(i%3, at, value)
				if !data.read(rng) {
					t.Fatalf("what was read after write %d was not whole", i)
				}
			}
			if n, flaw := data.audit(); n != writes || flaw != "" {
				t.Errorf("it shows %d writes of %d: %s", n, writes, flaw)
			}
		})
	}
	for _, c := range []struct {
		name   string
		data   structure
		damage func(structure)
		flaw   string // "" is a wrong count only
	}{
		{"a line lost a write", newStructure("lines:4"), func(s structure) { s.(lines)[2].n-- }, "line 3 of 4 shows 4999 writes, the first 5000"},
		{"the lines lost a write", newStructure("lines:1"), func(s structure) { s.(lines)[0].n-- }, ""},
		{"the map lost a write", newStructure(harness.SectionMap), func(s structure) { s.(table)[7]-- }, ""},
		{"the map lost a key", newStructure(harness.SectionMap), func(s structure) { delete(s.(table), 7) }, "1023 were found"},
		{"the map has another key", newStructure(harness.SectionMap), func(s structure) { delete(s.(table), 7); s.(table)[structureKeys] = 1 }, "key 1024"},
		{"the cache lost an entry", newCache(), func(s structure) { s.(*cache).evicted-- }, ""},
		{"the cache has an entry never written", newCache(), func(s structure) { c := s.(*cache); c.lru.Add(c.lru.Keys()[0], 0) }, "does not have it"},
		{"the cache is larger", newCache(), func(s structure) {
			c := s.(*cache)
			c.lru.Resize(structureKeys)
			for key := range uint64(structureKeys) {
				c.lru.Add(key, 1)
			}
		}, "room for 512"},
		{"the log lost its last entry", newStructure(harness.SectionLog), func(s structure) { j := s.(*journal); j.entries = j.entries[:len(j.entries)-entrySize] }, ""},
		{"the log lost an entry within", newStructure(harness.SectionLog), func(s structure) { j := s.(*journal); j.entries = slices.Delete(j.entries, 64, 64+entrySize) }, "entry"},
		{"the log lost a buffer", newStructure(harness.SectionLog), func(s structure) { s.(*journal).before -= journalSize / entrySize }, "entry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := machine.NewRandom(1)
			for range 5000 {
				at, value := c.data.find(rng)
				c.data.write(0, at, value)
			}
			c.damage(c.data)
			if n, flaw := c.data.audit(); n == 5000 && flaw == "" || !strings.Contains(flaw, c.flaw) || c.flaw == "" && flaw != "" {
				t.Errorf("it shows %d writes: %q, want %q", n, flaw, c.flaw)
			}
		})
	}
}

// TestTwoInside: two workers inside show in every section's data, in either order.
func TestTwoInside(t *testing.T) {
	for _, s := range everySection {
		data := newStructure(s)
		at, value := data.find(machine.NewRandom(1))
		same, now := data.find(machine.NewRandom(1)) // draws the same
		if at != same || value != now {
			t.Fatalf("%s: one source gives %d and %d", s, at, same)
		}
		data.write(0, at, value)
		data.write(1, same, now)
		if n, flaw := data.audit(); n == 2 && flaw == "" {
			t.Errorf("%s: two were inside, and the data is that of one after the other", s)
		}
	}
}

func TestTornReads(t *testing.T) {
	l, j := make(lines, 3), new(journal)
	l.write(0, 0, 0)
	j.write(0, 0, 0)
	l[1].n++
	j.before++
	if l.read(nil) || j.read(nil) {
		t.Error("what was read was half written, and passed for whole")
	}
	w, access := mixedWorker{rng: machine.NewRandom(1)}, lockAccess{data: new(sharedData), hold: spinner{data: l}}
	if w.load(&access) {
		t.Error("a worker that reads data does not look at it")
	}
	l[0].n, l[2].n = l[1].n, l[1].n
	if !w.load(&access) {
		t.Error("data that is whole passed for half written")
	}
}

func TestSections(t *testing.T) {
	window := 30 * time.Millisecond
	for _, s := range everySection {
		for _, w := range []harness.Workload{
			{Workers: 4, Section: s, Window: window},
			{Workers: 4, Section: s, Reads: 50, Locks: 3, Window: window},
		} {
			t.Run(w.Name(), func(t *testing.T) {
				for _, v := range []*harness.Variant{good, readers} {
					if r := measureLocal(t, v, w); len(r.Violations) > 0 || r.Ops == 0 {
						t.Errorf("%s: %d acquisitions, violations %v", v.Name, r.Ops, r.Violations)
					}
				}
			})
		}
	}
}

// TestSectionsCatch: data shows two workers; a map or cache may end its process.
func TestSectionsCatch(t *testing.T) {
	if locktest.RaceDetector {
		t.Skip("under the race detector a lock that does nothing ends the process")
	}
	found := func(r *result.Result, s harness.Section) bool {
		return slices.ContainsFunc(r.Violations, func(v oracle.Violation) bool {
			return v.Rule == "exclusion" && strings.Contains(v.Detail, "section "+s.String()+",") || v.Rule == "crash"
		})
	}
	for _, s := range []harness.Section{"lines:1", "lines:16", harness.SectionLog} {
		t.Run(s.String(), func(t *testing.T) {
			w := workload(4)
			w.Section = s
			if r := measureLocal(t, busted, w); !found(r, s) {
				t.Errorf("violations %v", r.Violations)
			}
			w.Locks = 2
			if r := measureLocal(t, busted, w); !found(r, s) {
				t.Errorf("with two locks: violations %v", r.Violations)
			}
		})
	}
	for _, s := range []harness.Section{harness.SectionMap, harness.SectionLRU} {
		t.Run(s.String(), func(t *testing.T) {
			p := plan(1, busted)
			p.Cases[0].Workload.Workers, p.Cases[0].Workload.Section = 4, s
			r := measurePlan(t, p)[0].Result
			for try := 1; try < 5 && !found(r, s); try++ { // two workers may never meet in the data
				r = measurePlan(t, p)[0].Result
			}
			if !found(r, s) {
				t.Errorf("violations %v", r.Violations)
			}
		})
	}
	t.Run("readers beside writers", func(t *testing.T) {
		w := workload(4)
		w.Section, w.Reads = "lines:1024", 50
		requireViolation(t, measureLocal(t, forgetsReaders, w), "exclusion")
	})
}

func TestUnguarded(t *testing.T) {
	data := harness.Workload{Workers: 2, Section: harness.SectionMap, Window: 1}
	reading := data
	reading.Reads = 50
	plainly := harness.Workload{Workers: 2, Reads: 50, Window: 1}
	two := *good
	two.Traits.Permits = 2
	for _, c := range []struct {
		v    *harness.Variant
		w    harness.Workload
		want string
	}{
		{good, data, ""}, {good, reading, ""}, {readers, reading, ""}, {optimist, data, ""}, {optimist, plainly, ""},
		{optimist, reading, "read while a writer writes"},
		{&two, data, "2 workers may hold it at once"}, {&two, plainly, ""},
		{elsewhere, data, "share no memory"}, {elsewhere, plainly, ""},
		{elsewhere, harness.Workload{Workers: machine.MaxFiles()}, "ulimit -n"}, {elsewhere, harness.Workload{Workers: machine.MaxFiles(), Clients: 1}, ""},
	} {
		err := fits(c.v, c.w)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s by %s: %v, want %q", c.v.Name, c.w.Name(), err, c.want)
		}
	}
}

func TestSectionCosts(t *testing.T) {
	p := plan(1, good, good, single)
	if costs := instruments().SectionCosts(p.Cases); costs != nil {
		t.Errorf("no section has data, and they cost %v", costs)
	}
	p.Cases[0].Workload.Section, p.Cases[1].Workload.Section = harness.SectionMap, "lines:16"
	costs := instruments().SectionCosts(p.Cases)
	if len(costs) != 2 || !(costs[harness.SectionMap] > 0) || !(costs["lines:16"] > 0) {
		t.Errorf("the sections cost %v", costs)
	}
}

func TestMixture(t *testing.T) {
	var span harness.Span
	requireNoError(t, span.Set("100ns*7+20us*2+1ms"))
	in, rng := instruments(), machine.NewRandom(1)
	spin, sleep := newSpinner(in.Work, span, rng), newSleeper(span, rng, nil)
	if spin.plain || !spin.some {
		t.Fatalf("a mixture is spent as %+v", spin)
	}
	const n = 100_000
	counts, sleeps := make(map[int64]int), make(map[int64]int)
	for range n {
		counts[spin.draw()]++
		sleeps[sleep.draw()]++
	}
	for length, weight := range span.Parts() {
		want := float64(weight) / 10
		for _, got := range []int{counts[int64(in.Work.Iterations(length))], sleeps[int64(length)]} {
			if share := float64(got) / n; math.Abs(share-want) > 0.01 {
				t.Errorf("%v is %v of the spans, want %v", length, share, want)
			}
		}
	}
	if len(counts) != 3 || len(sleeps) != 3 {
		t.Errorf("%v, %v, want three lengths", counts, sleeps)
	}
	constant, exponential := newSpinner(in.Work, harness.Span{Mean: 100}, rng), newSpinner(in.Work, harness.Span{Mean: 100, Exp: true}, rng)
	a, b := exponential.draw(), exponential.draw()
	if !constant.plain || exponential.plain || a == b {
		t.Errorf("a constant span is %+v, an exponential one %+v", constant, exponential)
	}
}

// TestAnswered: a result of a build without an axis is not a result of that case.
func TestAnswered(t *testing.T) {
	s := spec{Workload: workload(2)}
	s.Workload.Section = harness.SectionMap
	r := &result.Result{Workload: s.Workload}
	requireNoError(t, s.answered(r))
	r.Workload.Section = harness.SectionWork
	if err := s.answered(r); lostBy(err) == nil || !strings.Contains(err.Error(), "not workers=2/section=map") {
		t.Errorf("got %v", err)
	}
}

var elsewhere = &harness.Variant{Name: "far", Doc: "a lock elsewhere", Paper: "none", Family: harness.Redis,
	Traits: harness.Traits{Needs: harness.KindRedis}}
