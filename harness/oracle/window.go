package oracle

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/anishathalye/porcupine"
)

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
	n := 2 * len(j.Holds)
	for i := range j.Holds {
		if j.Holds[i].Late {
			n++
		}
	}
	for i := range j.Attempts {
		if o := j.Attempts[i].Outcome; o != Got {
			n++
		}
	}
	ops := make([]operation, 0, n)
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
			ops = append(ops, operation{input{kind: attempt, shared: h.Shared}, h.Worker, h.Requested, never})
		}
	}
	for i := range j.Attempts {
		a := &j.Attempts[i]
		switch {
		case a.Outcome == Not && !r.Spurious:
			ops = append(ops, operation{input{kind: refuse, shared: a.Shared}, a.Worker, a.Asked, a.Answered})
		case a.Outcome == Unknown || a.Outcome == Pending:
			ops = append(ops, operation{input{kind: attempt, shared: a.Shared}, a.Worker, a.Asked, never})
		}
	}
	return ops
}

type window struct {
	LinearWindow
	ops        []operation
	indefinite int
	clients    map[int]bool
}

// few operations are decided together rather than one at a time.
const few = 200

// cut cuts ops into windows of size operations or more, at moments without a pending
// operation: all earlier ones are over, so the state of the lock is known. Attempts with
// unknown outcome are always pending; their possible effects on later windows are part of
// these windows' initial state. It sorts ops, which the windows share.
func cut(ops []operation, size int) []*window {
	ops = slices.DeleteFunc(ops, func(op operation) bool { return op.call == never })
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.call, b.call) })
	var ws []*window
	var w *window
	busy := int64(math.MinInt64) // time until which an operation is pending
	from := 0
	for i, op := range ops {
		if w == nil || op.call > busy && (len(w.ops) >= size || w.indefinite > 0 || len(w.clients) >= mostClients) {
			w = &window{LinearWindow: LinearWindow{From: op.call, To: op.call}, clients: make(map[int]bool)}
			ws = append(ws, w)
			from = i
		}
		w.note(op)
		w.ops = ops[from : i+1 : i+1]
		if op.kind != attempt {
			busy = max(busy, op.ret)
		}
	}
	return ws
}

func (w *window) note(op operation) {
	w.Operations++
	w.clients[op.worker] = true
	if op.ret == never {
		w.indefinite++
		w.To = max(w.To, op.call)
	} else {
		w.To = max(w.To, op.ret)
	}
}

func (w *window) after(s state) state {
	for _, op := range w.ops {
		switch op.kind {
		case acquire:
			s.hold(op.input)
		case attempt:
			s.unknown = true
		default:
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
