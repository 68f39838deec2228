//go:build systematic && simulate

package simulate

import (
	"maps"
	"testing"

	"locklab/atomics"
)

func plainMachine() *Machine {
	return &Machine{
		Name: "plain", Sockets: 2, Clusters: 2, Cores: 2, SMT: 1,
		Hit: 1, Store: 1, RMW: 5, Fence: 3, Pause: 10,
		Transfer: [4]float64{7, 40, 60, 100}, Shared: [4]float64{1, 20, 30, 80},
		Memory: 50, Occupy: 8, Ack: 2, Window: 0.5,
	}
}

// An actor is a core: at waits until a time in ns, note records its time.
type actor struct {
	*core
	times map[string]float64
}

func (a *actor) at(ns float64)    { a.clock = max(a.clock, int64(ns*1000)) }
func (a *actor) note(name string) { a.times[name] = float64(a.clock) / 1000 }
func (a *actor) idles(ns float64) { a.spend(int64(ns * 1000)) }

// A words is a scenario's data: x, y and z in separate lines, beside in x's line.
type words struct {
	x, beside atomics.Uint64
	_         atomics.CacheLinePad
	y         atomics.Uint64
	_         atomics.CacheLinePad
	z         atomics.Uint64
	_         atomics.CacheLinePad
}

type part struct {
	thread int
	play   func(a *actor, w *words)
}

func playParts(t *testing.T, m *Machine, parts ...part) map[string]float64 {
	t.Helper()
	s := newSim(m, 1)
	s.check = newProtocol(s)
	s.stuck = 100_000_000 // one that waits in vain ends
	times := make(map[string]float64)
	w := new(words)
	for i, p := range parts {
		s.newCore(i, p.thread, func(c *core) { p.play(&actor{c, times}, w) })
	}
	s.simulate()
	if s.failure != nil {
		t.Error(s.failure)
	}
	return times
}

// scenarios specify each rule of the model to the nanosecond, as sums of numbers of plain.
var scenarios = []struct {
	name  string
	tune  func(m *Machine)
	parts []part
	want  map[string]float64
}{
	{"a line that no cache has comes from memory, exclusive", nil, []part{
		{0, func(a *actor, w *words) {
			w.x.Load()
			a.note("read") // memory
			w.x.CompareAndSwap(0, 1)
			a.note("written") // rmw, no miss
			w.x.Load()
			a.note("again") // hit
		}},
	}, map[string]float64{"read": 50, "written": 55, "again": 56}},

	{"a modified line takes longer from farther away", nil, []part{
		{0, func(a *actor, w *words) { w.x.Swap(1); w.y.Swap(1); w.z.Swap(1) }},
		{1, func(a *actor, w *words) { a.at(1000); w.x.Load(); a.note("cluster") }},
		{2, func(a *actor, w *words) { a.at(1000); w.y.Load(); a.note("socket") }},
		{4, func(a *actor, w *words) { a.at(1000); w.z.Load(); a.note("other") }},
	}, map[string]float64{"cluster": 1040, "socket": 1060, "other": 1100}},

	{"a copy comes from the nearest copy, and the next one is served an occupation later", nil, []part{
		{0, func(a *actor, w *words) { w.x.Load() }},
		{4, func(a *actor, w *words) { a.at(500); w.x.Load() }},
		{1, func(a *actor, w *words) { a.at(1000); w.x.Load(); a.note("first") }}, // shared in a cluster
		{2, func(a *actor, w *words) { a.at(1000); w.x.Load(); a.note("next") }},  // occupy, shared in a socket
	}, map[string]float64{"first": 1020, "next": 1038}},

	{"a writer waits for the farthest copy, and for an acknowledgement of each further one", nil, []part{
		{0, func(a *actor, w *words) {
			w.x.Load()
			w.y.Load()
			a.at(1000)
			w.x.Swap(1)
			a.note("x")
			a.at(2000)
			w.y.Swap(1)
			a.note("y")
		}},
		{1, func(a *actor, w *words) { a.at(300); w.x.Load(); w.y.Load() }},
		{4, func(a *actor, w *words) { a.at(600); w.y.Load() }},
	}, map[string]float64{"x": 1045, "y": 2107}}, // transfer, rmw; transfer, ack, rmw

	{"an upgrade that leaves the cluster takes as long as the machine says", func(m *Machine) { m.Upgrade[sameCluster] = 70 }, []part{
		{0, func(a *actor, w *words) { w.x.Load(); a.at(1000); w.x.Swap(1); a.note("x") }},
		{1, func(a *actor, w *words) { a.at(300); w.x.Load() }},
	}, map[string]float64{"x": 1075}},

	{"and longer if its directory is on another socket", func(m *Machine) { m.Upgrade[sameCluster], m.Home = 70, 33 }, []part{
		{4, func(a *actor, w *words) { w.x.Load() }},
		{0, func(a *actor, w *words) { a.at(300); w.x.Swap(1); a.at(1000); w.x.Swap(2); a.note("x") }},
		{1, func(a *actor, w *words) { a.at(600); w.x.Load() }},
	}, map[string]float64{"x": 1108}},

	{"two swaps in one instant are served one after the other", nil, []part{
		{0, func(a *actor, w *words) { w.x.Load(); a.at(1000); w.x.Swap(1); a.note("first") }},
		{1, func(a *actor, w *words) { a.at(300); w.x.Load(); a.at(1000); w.x.Swap(1); a.note("second") }},
	}, map[string]float64{"first": 1045, "second": 1085}}, // 40 5; served at 1040: 40 5

	{"the owner finishes its instruction", func(m *Machine) { m.Window = 0.05 }, []part{
		{0, func(a *actor, w *words) { w.x.Load(); a.at(1000); w.x.Swap(1); a.note("first") }},
		{1, func(a *actor, w *words) { a.at(300); w.x.Load(); a.at(1000); w.x.Swap(1); a.note("second") }},
	}, map[string]float64{"first": 1045, "second": 1088}}, // there after 2, goes at 1045: 38 5

	{"the owner uses the line until the snoop is there", nil, []part{
		{0, func(a *actor, w *words) {
			w.x.Swap(1)
			a.at(1010)
			w.x.Swap(2)
			a.note("before") // rmw
			a.at(1030)
			w.x.Swap(3)
			a.note("after") // served at 1040: transfer, rmw
		}},
		{1, func(a *actor, w *words) { a.at(1000); w.x.Swap(4); a.note("other") }},
	}, map[string]float64{"before": 1015, "after": 1085, "other": 1045}},

	{"of contenders in one instant that at the directory is first", nil, []part{
		{4, func(a *actor, w *words) { a.at(300); w.x.Load(); a.at(1000); w.x.Swap(1); a.note("far") }},
		{0, func(a *actor, w *words) {
			w.x.Load()
			a.at(600)
			w.y.Load()
			a.at(1000)
			w.x.Swap(1)
			a.note("home")
		}},
	}, map[string]float64{"home": 1105, "far": 1205}},

	{"first come, first served", nil, []part{
		{0, func(a *actor, w *words) { w.x.Swap(1) }},
		{2, func(a *actor, w *words) { a.at(1000); w.x.Swap(1); a.note("first") }},
		{4, func(a *actor, w *words) { a.at(1001); w.x.Swap(1); a.note("second") }},
		{1, func(a *actor, w *words) { a.at(1002); w.x.Swap(1); a.note("third") }},
	}, map[string]float64{"first": 1065, "second": 1165, "third": 1265}},

	{"requests from the socket of the owner are favoured, some times in a row", func(m *Machine) { m.Favour = 1 }, []part{
		{0, func(a *actor, w *words) { w.x.Swap(1) }},
		{2, func(a *actor, w *words) { a.at(1000); w.x.Swap(1); a.note("first") }},
		{4, func(a *actor, w *words) { a.at(1001); w.x.Swap(1); a.note("older") }},
		{1, func(a *actor, w *words) { a.at(1002); w.x.Swap(1); a.note("favoured") }},
		{3, func(a *actor, w *words) { a.at(1003); w.x.Swap(1); a.note("too late") }},
	}, map[string]float64{"first": 1065, "favoured": 1125, "older": 1225, "too late": 1325}},

	{"a load is answered by the store buffer, which others do not see", nil, []part{
		{0, func(a *actor, w *words) {
			a.at(1000)
			w.x.StoreRelease(7)
			if w.x.Load() != 7 {
				a.note("lost")
			}
			a.note("forwarded") // store, hit
		}},
		{1, func(a *actor, w *words) {
			w.x.Load()
			a.at(1005)
			if w.x.Load() == 0 {
				a.note("not seen") // hit
			}
		}},
	}, map[string]float64{"forwarded": 1002, "not seen": 1006}},

	{"stores become visible in order", nil, []part{
		{0, func(a *actor, w *words) { w.y.Swap(1); a.at(1000); w.x.StoreRelease(1); w.y.StoreRelease(2) }}, // x from far away
		{4, func(a *actor, w *words) { w.x.Load() }},
		{1, func(a *actor, w *words) {
			a.at(500)
			w.x.Load()
			a.at(1005)
			if y, x := w.y.Load(), w.x.Load(); y == 2 && x == 0 {
				a.note("reordered")
			}
			a.note("read") // transfer, hit
		}},
	}, map[string]float64{"read": 1046}},

	{"the lines of two stores come at the same time, and a locked instruction waits for both and a fence", nil, []part{
		{0, func(a *actor, w *words) {
			w.z.Swap(1)
			a.at(1000)
			w.x.StoreRelease(1)
			w.y.StoreRelease(1)
			a.note("stored")
			w.z.Swap(2)
			a.note("locked") // from 1001: memory, fence, rmw
		}},
	}, map[string]float64{"stored": 1002, "locked": 1059}},

	{"a locked instruction sends for its line while it waits for the stores", nil, []part{
		{0, func(a *actor, w *words) {
			w.x.StoreRelease(1)
			w.y.Swap(2)
			a.note("locked") // from 1: memory, fence, rmw
		}},
	}, map[string]float64{"locked": 59}},

	{"a write beside it takes a word's line away", nil, []part{
		{0, func(a *actor, w *words) {
			w.x.Swap(1)
			a.at(1000)
			w.x.Load()
			a.note("own") // hit
			a.at(2000)
			w.x.Load()
			a.note("false sharing") // transfer
		}},
		{1, func(a *actor, w *words) { a.at(1500); w.beside.Swap(1) }},
	}, map[string]float64{"own": 1001, "false sharing": 2040}},

	{"without reach two misses follow each other", nil, []part{
		{0, func(a *actor, w *words) { w.x.Load(); w.y.Load(); a.note("both") }},
	}, map[string]float64{"both": 100}},

	{"independent misses overlap", func(m *Machine) { m.Reach = 20 }, []part{
		{0, func(a *actor, w *words) {
			w.x.Load()
			a.idles(20)
			w.y.Load()
			a.note("both") // 50 20, and y came at 20+50
			a.idles(21)
			w.z.Load()
			a.note("too far") // 21 50
		}},
	}, map[string]float64{"both": 71, "too far": 142}},

	{"no load goes before a locked instruction", func(m *Machine) { m.Reach = 20 }, []part{
		{0, func(a *actor, w *words) { w.x.Load(); w.x.Swap(1); w.y.Load(); a.note("both") }},
	}, map[string]float64{"both": 105}},

	{"nor before a spin hint", func(m *Machine) { m.Reach = 20 }, []part{
		{0, func(a *actor, w *words) {
			w.x.Load()
			atomics.SpinHint(1)
			w.x.Swap(0)
			w.y.Load()
			atomics.SpinHint(1) // as many as before
			w.z.Load()
			a.note("all") // 50 10 5 50 10 50
		}},
	}, map[string]float64{"all": 175}},

	{"a core runs ahead of the end of a wait", func(m *Machine) { m.Reach = 20 }, []part{
		{0, func(a *actor, w *words) { a.at(1000); w.x.Swap(1); a.at(2000); w.x.Swap(2) }},
		{1, func(a *actor, w *words) {
			wait := func(v uint64) {
				for w.x.Load() != v {
					atomics.SpinHint(1)
				}
			}
			w.x.Load()
			a.at(970)
			wait(1) // polls until 1025, when the copy is gone; served at 1040: 40
			w.y.Load()
			a.note("read") // it came in the meantime: hit
			a.at(1950)
			wait(2)
			w.z.Swap(1)
			a.note("locked") // served at 2040, 40, memory, rmw
		}},
	}, map[string]float64{"read": 1081, "locked": 2135}},

	{"a miss was not on its way before its line was written", func(m *Machine) { m.Reach = 20 }, []part{
		{0, func(a *actor, w *words) { a.at(1000); w.x.Load(); w.y.Load(); a.note("both") }}, // from 1035: transfer
		{1, func(a *actor, w *words) { w.y.Swap(1); a.at(1035); w.y.Swap(2) }},
	}, map[string]float64{"both": 1075}},

	{"a miss behind others has gained nothing", func(m *Machine) { m.Reach = 20 }, []part{
		{0, func(a *actor, w *words) { a.at(1000); w.x.Load(); w.y.Load(); a.note("both") }}, // served at 1080: transfer
		{1, func(a *actor, w *words) { a.at(1030); w.y.Swap(1) }},                            // memory
	}, map[string]float64{"both": 1120}},

	{"nothing goes before a snoop that has come", func(m *Machine) { m.SMT, m.Window = 2, 0.05 }, []part{
		{0, func(a *actor, w *words) { w.x.Load(); a.at(1000); w.x.Swap(1) }}, // 1040 to 1045
		{2, func(a *actor, w *words) { a.at(300); w.x.Load(); a.at(1000); w.x.Swap(1); a.note("other") }},
		{1, func(a *actor, w *words) {
			w.z.Swap(1)
			a.at(1043)
			w.beside.StoreRelease(1) // the snoop came at 1042; served at 1083, goes at 1088: 38
			w.z.Swap(2)
			a.note("sibling") // fence, rmw
		}},
	}, map[string]float64{"other": 1088, "sibling": 1134}},

	{"a sibling at work slows its core down", func(m *Machine) { m.SMT, m.Sibling = 2, 1.5 }, []part{
		{0, func(a *actor, w *words) { a.idles(200) }},
		{1, func(a *actor, w *words) { a.at(50); a.idles(100); a.note("work") }},
	}, map[string]float64{"work": 200}},

	{"a sibling that waits does not", func(m *Machine) { m.SMT, m.Sibling = 2, 1.5 }, []part{
		{0, func(a *actor, w *words) { a.at(1000); w.y.Load(); a.idles(100); a.note("beside a waiter") }}, // memory, 100
		{1, func(a *actor, w *words) {
			for a.clock < 3_000_000 {
				w.x.Load()
				atomics.SpinHint(1)
			}
		}},
	}, map[string]float64{"beside a waiter": 1150}},

	{"siblings share their cache", func(m *Machine) { m.SMT = 2 }, []part{
		{0, func(a *actor, w *words) { w.x.Swap(1) }},
		{1, func(a *actor, w *words) { a.at(1000); w.x.Swap(2); a.note("sibling") }},
	}, map[string]float64{"sibling": 1005}},

	{"siblings share a request", func(m *Machine) { m.SMT = 2 }, []part{
		{0, func(a *actor, w *words) { w.x.Load(); a.note("first") }},
		{1, func(a *actor, w *words) { a.at(30); w.x.Load(); a.note("second") }},
	}, map[string]float64{"first": 50, "second": 50}},

	{"a load waits for the line that a store sent for", nil, []part{
		{0, func(a *actor, w *words) { w.x.StoreRelease(1); w.beside.Load(); a.note("beside") }},
	}, map[string]float64{"beside": 50}},

	{"a copy can be read while its cache asks to write it", nil, []part{
		{0, func(a *actor, w *words) {
			w.x.Load()
			a.at(1000)
			w.x.StoreRelease(1)
			a.at(1030) // the other copy is gone
			w.beside.Load()
			a.note("beside") // hit
		}},
		{1, func(a *actor, w *words) { a.at(500); w.x.Load() }},
	}, map[string]float64{"beside": 1031}},

	{"a request goes over the directory at the home of the line", func(m *Machine) { m.Home = 33 }, []part{
		{4, func(a *actor, w *words) { w.x.Load(); w.y.Load() }}, // their home
		{0, func(a *actor, w *words) { a.at(300); w.x.Swap(1); w.y.Swap(1) }},
		{2, func(a *actor, w *words) { a.at(1000); w.x.Load(); a.note("detour") }},
		{1, func(a *actor, w *words) { a.at(1000); w.y.Load(); a.note("in the cluster") }},
	}, map[string]float64{"detour": 1093, "in the cluster": 1040}},

	{"homes are on all sockets in turn", func(m *Machine) { m.Home, m.Interleave = 33, true }, []part{
		{0, func(a *actor, w *words) {
			w.x.Load()
			a.note("first")
			w.y.Load()
			a.note("second")
		}},
	}, map[string]float64{"first": 50, "second": 133}},
}

func TestRules(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			m := plainMachine()
			if sc.tune != nil {
				sc.tune(m)
			}
			if got := playParts(t, m, sc.parts...); !maps.Equal(got, sc.want) {
				t.Errorf("times %v, want %v", got, sc.want)
			}
		})
	}
}
