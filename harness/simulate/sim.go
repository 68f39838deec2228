//go:build systematic && simulate

package simulate

import (
	"fmt"
	"io"
	"math/rand/v2"

	"locklab/atomics"
)

type eventKind uint8

const (
	evCore  eventKind = iota // a core goes on
	evServe                  // a line answers its next request
	evLeave                  // its owner, or the caches with copies, learn of it
	evFree                   // a line has answered
	evDone                   // a request arrives
)

type event struct {
	at     int64
	seq    int64
	kind   eventKind
	id     int
	ticket int64
	r      *request
}

// A Sim is one run. Times are in picoseconds.
type Sim struct {
	m     *Machine
	rng   *rand.Rand
	now   int64
	seq   int64
	heap  []event
	steps int64

	cores    []*core
	lines    map[uintptr]*line
	order    []*line
	running  *core
	halted   bool
	progress int64 // when a worker last took the lock
	stuck    int64 // how long no worker may be without it; 0 is for ever
	counts   Counts
	log      io.Writer

	hit, store, rmw, fence, pause, yield, doze int64
}

func newSim(m *Machine, seed uint64) *Sim {
	s := &Sim{m: m, rng: rand.New(rand.NewPCG(seed, 1)), lines: make(map[uintptr]*line)}
	s.hit, s.store, s.rmw, s.fence, s.pause, s.yield = s.ps(m.Hit), s.ps(m.Store), s.ps(m.RMW), s.ps(m.Fence), s.ps(m.Pause), s.ps(m.Yield)
	if m.Yield == 0 {
		s.yield = s.pause
	}
	s.doze = 1_000_000
	return s
}

func (s *Sim) ps(ns float64) int64 { return int64(ns * 1000) }

// vary returns a latency with its jitter.
func (s *Sim) vary(ns float64) int64 {
	return s.ps(ns * (1 + s.m.Jitter*(2*s.rng.Float64()-1)))
}

func (s *Sim) tell(format string, args ...any) {
	if s.log != nil {
		fmt.Fprintf(s.log, "%8.1f ns  "+format+"\n", append([]any{float64(s.now) / 1000}, args...)...)
	}
}

func (s *Sim) at(t int64, k eventKind, id int) { s.push(event{at: t, kind: k, id: id}) }
func (s *Sim) done(t int64, r *request)        { s.push(event{at: t, kind: evDone, r: r}) }
func (a event) before(b event) bool            { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (s *Sim) push(e event) {
	s.seq++
	e.seq = s.seq
	h := append(s.heap, e)
	i := len(h) - 1
	for i > 0 && e.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
	s.heap = h
}

func (s *Sim) pop() event {
	h := s.heap
	top, e := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && h[k+1].before(h[k]) {
			k++
		}
		if !h[k].before(e) {
			break
		}
		h[i] = h[k]
		i = k
	}
	if len(h) > 0 {
		h[i] = e
	}
	s.heap = h
	return top
}

// horizon is the time until which nothing happens but what the running core does.
func (s *Sim) horizon() int64 {
	if len(s.heap) == 0 {
		return 1 << 62
	}
	return s.heap[0].at
}

// simulate runs until no event is left or it is halted.
func (s *Sim) simulate() {
	defer atomics.SetScheduler(func(a atomics.Access) uint64 {
		if s.running == nil { // the program is built or judged
			before := a.Word.Get()
			a.Word.Set(a.After(before))
			return before
		}
		return s.running.access(a)
	})()
	defer func() {
		for _, c := range s.cores {
			s.running = c
			c.stop()
		}
		s.running = nil
	}()
	for _, c := range s.cores {
		c.wakes()
	}
	for len(s.heap) > 0 && !s.halted {
		e := s.pop()
		if s.now = e.at; s.stuck > 0 && s.now > s.progress+s.stuck {
			return
		}
		s.steps++
		switch e.kind {
		case evCore:
			if c := s.cores[e.id]; e.ticket == c.ticket && !c.over {
				c.step()
			}
		case evServe:
			s.serve(s.byID(e.id))
		case evLeave:
			s.leave(s.byID(e.id))
		case evFree:
			l := s.byID(e.id)
			l.busy = false
			s.next(l)
		case evDone:
			s.arrive(e.r)
		}
	}
}

func (s *Sim) byID(id int) *line { return s.order[id] }
