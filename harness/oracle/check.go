package oracle

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Linearity is the conclusion about a history.
type Linearity string

// The conclusions.
const (
	Proven    Linearity = "proven"     // a lock could have done this
	Violated  Linearity = "violated"   // no lock could
	NotProven Linearity = "not proven" // inconclusive: a window is too large, or the time was over
)

// The limits of a window: larger ones are not proven.
const (
	mostOperations = 10_000
	mostClients    = 64
)

// A LinearWindow is a part of a history, from the first call in it to the last return, in ns on
// the clock of the history.
type LinearWindow struct{ From, To int64 }

// CheckLinear decides whether a lock with rules r could have made the history that was
// judged by the same rules. It stops at the first violated window, and returns it. A window that
// takes longer than most is not proven, nor are the windows left after total.
func CheckLinear(j *Judgement, r Rules, most, total time.Duration) (Linearity, LinearWindow) {
	return checkLinear(j, r, most, total, few)
}

func checkLinear(j *Judgement, r Rules, most, total time.Duration, size int) (Linearity, LinearWindow) {
	r.Permits = max(1, r.Permits)
	all := Proven
	var before state
	deadline := time.Now().Add(total)
	for _, w := range cut(operations(j, r), size) {
		linear := w.check(before, r, min(most, time.Until(deadline)))
		before = w.after(before)
		switch linear {
		case Violated:
			return Violated, w.LinearWindow
		case NotProven:
			all = NotProven
		}
	}
	return all, LinearWindow{}
}

func (w *window) check(s state, r Rules, left time.Duration) Linearity {
	if len(w.ops) > mostOperations || len(w.clients) > mostClients || left <= 0 {
		return NotProven
	}
	switch porcupine.CheckOperationsTimeout(model(s, r), w.porcupine(), left) {
	case porcupine.Ok:
		return Proven
	case porcupine.Illegal:
		return Violated
	}
	return NotProven
}

// A state is the state of a lock.
type state struct {
	writers, readers int
	greatest         uint64 // greatest token of a holder
	written          uint64 // of a writer

	// unknown: an unaware client may hold the lock. That keeps no other client out,
	// because its hold may end at any time, but it may explain a refusal.
	unknown bool

	// points are the holds of one moment, whose two operations may appear in reverse order.
	points string
}

type kind uint8

const (
	acquire kind = iota
	release
	refuse
	attempt // with unknown outcome: it may have an effect from its call on
)

type input struct {
	kind   kind
	shared bool
	token  uint64 // 0 if it does not count
	point  string // name of a hold of one moment, with a final comma
}

func (s state) step(in input, permits int, fenced bool) (state, bool) {
	others := s.readers
	if in.shared {
		others = s.writers
	}
	full := s.writers+s.readers >= permits && (permits > 1 || !in.shared)
	switch in.kind {
	case acquire:
		if others > 0 || full || fenced && in.token != 0 && s.behind(in) {
			return s, false
		}
		s.hold(in)
	case release:
		before, after, found := strings.Cut(","+s.points, ","+in.point)
		if in.point != "" && !found {
			return s, false
		}
		if in.point != "" {
			s.points = strings.TrimPrefix(before+","+after, ",")
		}
		if in.shared {
			s.readers--
		} else {
			s.writers--
		}
	case refuse:
		return s, others > 0 || full || s.unknown
	case attempt:
		s.unknown = true // an attempt that took no effect allows less
	}
	return s, true
}

func (s state) behind(in input) bool {
	if in.shared {
		return in.token < s.written
	}
	return in.token <= s.greatest
}

func (s *state) hold(in input) {
	s.points += in.point
	s.greatest = max(s.greatest, in.token)
	if in.shared {
		s.readers++
		return
	}
	s.writers++
	s.written = max(s.written, in.token)
}

func model(s state, r Rules) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return s },
		Step: func(st, in, _ any) (bool, any) {
			next, ok := st.(state).step(in.(input), r.Permits, r.Fenced)
			return ok, next
		},
	}
}

const never = math.MaxInt64

type operation struct {
	input
	worker    int
	call, ret int64
}

// operations returns the operations of a history. With one permit, a grant comes after all
// earlier holds began to end, and a release before the next grant has returned, in every order
// that a lock allows. So their times are narrowed to that, for more cuts with the same answer.
func operations(j *Judgement, r Rules) []operation {
	ops := raw(j, r)
	if r.Permits > 1 {
		return ops
	}
	ended, next := j.neighbours()
	for i := range j.Holds { // raw has two for each hold, in the order of holds
		take, leave := &ops[2*i], &ops[2*i+1]
		take.call = min(max(take.call, ended[i]), take.ret)
		leave.ret = max(leave.call, min(leave.ret, j.grantOf(next[i])))
	}
	return ops
}

func raw(j *Judgement, r Rules) []operation {
	ops := make([]operation, 0, 2*len(j.Holds)+len(j.Attempts))
	for i := range j.Holds {
		h := &j.Holds[i]
		in := input{kind: acquire, shared: h.Shared, token: h.Token}
		if h.Late || r.Permits > 1 { // two of several holders may have the same: see oracle.Tokens
			in.token = 0
		}
		out := input{kind: release, shared: h.Shared}
		if h.Acquired == h.Releasing {
			in.point = strconv.Itoa(i) + ","
			out.point = in.point
		}
		end := h.Releasing
		if h.Open {
			end = never // nothing is after it, at any time
		}
		ops = append(ops, operation{in, h.Worker, h.Requested, h.Acquired},
			operation{out, h.Worker, end, max(end, h.Released)})
	}
	for i := range j.Holds {
		if h := &j.Holds[i]; h.Late {
			ops = append(ops, operation{input{kind: attempt}, h.Worker, h.Requested, h.Requested})
		}
	}
	for i := range j.Attempts {
		a := &j.Attempts[i]
		switch {
		case a.Outcome == Not && !r.Spurious:
			ops = append(ops, operation{input{kind: refuse, shared: a.Shared}, a.Worker, a.Asked, a.Answered})
		case a.Outcome == Unknown || a.Outcome == Pending:
			ops = append(ops, operation{input{kind: attempt}, a.Worker, a.Asked, a.Asked})
		}
	}
	return ops
}

type window struct {
	LinearWindow
	ops     []operation
	clients map[int]bool
}

// few operations are decided together rather than one at a time.
const few = 200

// cut cuts ops into windows of size operations or more, at moments without a pending operation:
// all earlier ones are over, so the state of the lock is known. It sorts ops, which the windows
// share.
func cut(ops []operation, size int) []*window {
	ops = slices.DeleteFunc(ops, func(op operation) bool { return op.call == never })
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.call, b.call) })
	var ws []*window
	var w *window
	busy := int64(math.MinInt64) // time until which an operation is pending
	from := 0
	for i, op := range ops {
		if w == nil || op.call > busy && (len(w.ops) >= size || len(w.clients) >= mostClients) {
			w = &window{LinearWindow: LinearWindow{From: op.call, To: op.call}, clients: make(map[int]bool)}
			ws = append(ws, w)
			from = i
		}
		w.note(op)
		w.ops = ops[from : i+1 : i+1]
		busy = max(busy, op.ret)
	}
	return ws
}

func (w *window) note(op operation) {
	w.clients[op.worker] = true
	w.To = max(w.To, op.call)
	if op.ret != never {
		w.To = max(w.To, op.ret)
	}
}

func (w *window) after(s state) state {
	for _, op := range w.ops {
		if op.kind == acquire {
			s.hold(op.input)
		} else {
			s, _ = s.step(op.input, 1, false)
		}
	}
	return s
}

func (w *window) porcupine() []porcupine.Operation {
	ops := make([]porcupine.Operation, len(w.ops))
	for i, op := range w.ops {
		ops[i] = porcupine.Operation{ClientId: i, Input: op.input, Call: op.call, Return: op.ret}
	}
	return ops
}
