package chart

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// A dimension is a property of the workload that a run may vary, from the zero value.
type dimension struct {
	Name  string // in a sentence: "pinning"
	Word  string // in a benchmark name: "pin"
	Flag  string // of locklab run, with values that show an effect
	field func(w *harness.Workload) any
	count func(n int) setting // of a field that is a number
}

type setting struct {
	order float64 // sort key of the values
	label string
}

var (
	ByPin     = &dimension{Name: "pinning", Word: "pin", Flag: "--pin none,cpu", field: func(w *harness.Workload) any { return &w.Pin }}
	byWait    = &dimension{Name: "the wait policy", Word: "wait", Flag: "--wait adaptive,yield,park", field: func(w *harness.Workload) any { return &w.Wait }}
	byGarbage = &dimension{Name: "garbage collection", Word: "gc", Flag: "--gc off,on", field: func(w *harness.Workload) any { return &w.Garbage }}
	bySection = &dimension{Name: "the data behind the lock", Word: "section", Flag: "--section work,lines:16,map,lru,log", field: func(w *harness.Workload) any { return &w.Section }}
	byHold    = &dimension{Name: "the hold time", Word: "hold", Flag: "--hold 0,100ns,1us", field: func(w *harness.Workload) any { return &w.Hold }}
	byThink   = &dimension{Name: "the think time", Word: "think", Flag: "--think 0,1us", field: func(w *harness.Workload) any { return &w.Think }}
	byLocks   = &dimension{Name: "the number of locks", Word: "locks", Flag: "--spread 1,4,16", field: func(w *harness.Workload) any { return &w.Locks }, count: atLeastOne}
	byReads   = &dimension{Name: "the share of reads", Word: "reads", Flag: "--read 0,50,90", field: func(w *harness.Workload) any { return &w.Reads },
		count: func(n int) setting { return setting{float64(n), strconv.Itoa(n) + "%"} }}
	byClients = &dimension{Name: "the number of clients", Word: "clients", Flag: "--clients 1,8", field: func(w *harness.Workload) any { return &w.Clients },
		count: func(n int) setting {
			if n == 0 {
				return setting{math.MaxInt32, "one each"}
			}
			return atLeastOne(n)
		}}
	byServers = &dimension{Name: "the number of servers", Word: "servers", Flag: "--servers 1,3", field: func(w *harness.Workload) any { return &w.Servers }, count: atLeastOne}
	byDurable = &dimension{Name: "durable writes", Word: "durable", Flag: "--durable=off,on", field: func(w *harness.Workload) any { return &w.Durable }}
	byTLS     = &dimension{Name: "TLS", Word: "tls", Flag: "--tls=off,on", field: func(w *harness.Workload) any { return &w.TLS }}
	byDelay   = &dimension{Name: "the delay of the servers", Word: "delay", Flag: "--delay 0,1ms,5ms", field: func(w *harness.Workload) any { return &w.Delay }}
)

// dimensions are the axes in the order of a workload's name.
var dimensions = []*dimension{byHold, byThink, byReads, bySection, byLocks, ByPin, byWait, byGarbage, byClients, byServers, byDurable, byTLS, byDelay}

func atLeastOne(n int) setting { return setting{float64(max(1, n)), strconv.Itoa(max(1, n))} }

func (d *dimension) of(w harness.Workload) setting {
	switch v := d.field(&w).(type) {
	case *int:
		return d.count(*v)
	case *bool:
		return setting{map[bool]float64{true: 1}[*v], map[bool]string{false: "off", true: "on"}[*v]}
	case *harness.Pin:
		return setting{float64(slices.Index(harness.Pins, *v)), v.String()}
	case *harness.WaitPolicy:
		return setting{float64(slices.Index(harness.WaitPolicies, *v)), v.String()}
	case *harness.Section:
		return setting{sectionOrder(*v), v.String()}
	case *harness.Span:
		return spanned(*v)
	case *time.Duration:
		return spanned(harness.Span{Mean: *v})
	}
	return setting{}
}

func (d *dimension) without(w harness.Workload) harness.Workload {
	reflect.ValueOf(d.field(&w)).Elem().SetZero()
	return w
}

func spanned(s harness.Span) setting {
	v := setting{float64(s.Mean), s.String()}
	if s.Mean == 0 {
		v.label = "0"
	}
	switch {
	case s.Mix != "":
		v.order += 0.75
	case s.Exp:
		v.order += 0.5
	}
	return v
}

func sectionOrder(s harness.Section) float64 {
	if s == harness.SectionWork {
		return 0
	}
	if n := s.Lines(); n > 0 {
		return float64(n)
	}
	const first = harness.MaxLines + 1
	return float64(first + slices.Index([]harness.Section{harness.SectionMap, harness.SectionLRU, harness.SectionLog}, s))
}

// A sweep is the groups of a run whose workloads differ in one dimension only.
type sweep struct {
	*dimension
	remote   bool
	context  string // the rest of the workload
	settings []setting
	groups   []*Group // by setting
	base     int      // index of the default, or of the least setting
	workers  []int    // some lock was measured at two or more settings with these
	cpus     int
	memo     map[[2]int][]effect // by setting and workers
}

// Sweep returns the groups that differ in d only, with the most settings, or nil under two.
func (d *dimension) Sweep(g *Group) *sweep {
	var best *sweep
	byRest := make(map[string]*sweep)
	for _, o := range g.all {
		w := d.without(o.Load)
		context := judge.Axes(w)
		s := byRest[context]
		if s == nil {
			s = &sweep{dimension: d, remote: g.Remote, context: d.context(w), cpus: o.CPUs, memo: make(map[[2]int][]effect)}
			byRest[context] = s
		}
		v := d.of(o.Load)
		i, found := slices.BinarySearchFunc(s.settings, v, func(a, b setting) int {
			return cmp.Or(cmp.Compare(a.order, b.order), strings.Compare(a.label, b.label))
		})
		if found {
			continue
		}
		s.settings = slices.Insert(s.settings, i, v)
		s.groups = slices.Insert(s.groups, i, o)
		if best == nil || len(s.settings) > len(best.settings) {
			best = s
		}
	}
	if best == nil || len(best.settings) < 2 {
		return nil
	}
	best.base = max(0, slices.Index(best.settings, d.of(harness.Workload{})))
	best.count()
	if best.workers == nil {
		return nil
	}
	return best
}

func (d *dimension) context(w harness.Workload) string {
	if d != byHold { // a name always has the hold time
		return judge.Axes(w)
	}
	var out []string
	for _, o := range dimensions {
		if v := o.of(w); o != d && v != o.of(harness.Workload{}) {
			out = append(out, o.Word+"="+v.label)
		}
	}
	return strings.Join(out, " ")
}

func (s *sweep) count() {
	for _, w := range s.groups[s.base].Workers {
		if len(s.All(w)) > 0 {
			s.workers = append(s.workers, w)
		}
	}
}

func (s *sweep) crowd() int {
	most := 0
	for _, w := range s.workers {
		most = max(most, len(s.All(w)))
	}
	for _, w := range slices.Backward(s.workers) {
		if 4*len(s.All(w)) >= 3*most {
			return w
		}
	}
	return s.workers[len(s.workers)-1]
}

func (s *sweep) metric(w int) *result.Metric {
	if s.remote && w > 1 && s.dimension != byReads { // readers hand nothing over
		return result.Handovers
	}
	return result.Throughput
}

func (s *sweep) source(ws ...int) Source {
	out := Source{Rounds: []int{roundsOf(s.groups...)}}
	for _, w := range ws {
		if m := s.metric(w); !slices.Contains(out.Metrics, m) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return out
}

func (s *sweep) full(i int) string {
	return s.Word + "=" + s.settings[i].label
}

// An effect is a lock's rate with a setting over its base rate, in common rounds.
type effect struct {
	S       *series
	setting int
	stat.Ratio
	rate stat.Summary // with the setting
}

// Apart reports whether e is significant.
func (e effect) Apart() bool { return e.Greater() || e.Less() }

// Effects returns the effects of setting number i on every lock, with w workers. Their
// intervals hold together (Bonferroni).
func (s *sweep) Effects(i, w int) []effect {
	key := [2]int{i, w}
	es, ok := s.memo[key]
	if !ok {
		es = s.measure(i, w)
		s.memo[key] = es
	}
	return es
}

func (s *sweep) measure(i, w int) (out []effect) {
	m := s.metric(w)
	type pair struct {
		s      *series
		c      *Cell // with the setting
		xs, ys []float64
	}
	var ps []pair
	for _, x := range s.groups[s.base].at(w) {
		for _, o := range s.groups[i].at(w) {
			if o.Lock.Name == x.Lock.Name && x.Lock.Status != harness.Control {
				if xs, ys := judge.Pairs(o.Cells[w], x.Cells[w], m); len(xs) > 0 {
					ps = append(ps, pair{x, o.Cells[w], xs, ys})
				}
			}
		}
	}
	for _, p := range ps {
		e := effect{p.s, i, stat.Paired(p.xs, p.ys, stat.Level(len(ps))), p.c.Summary(m)}
		if e.N > 0 && e.Median > 0 && !math.IsInf(e.Median, 0) {
			out = append(out, e)
		}
	}
	return out
}

func (s *sweep) All(w int) (out []effect) {
	for i := range s.settings {
		if i != s.base {
			out = append(out, s.Effects(i, w)...)
		}
	}
	return out
}
