package chaos

import (
	"container/heap"
	"fmt"
	"io"
	"iter"

	"locklab/harness/oracle"
)

// A replay is the events of a record in order of time, ties in order of arrival. It keeps
// one event of each part of the file in memory.
type replay struct {
	events iter.Seq[*oracle.Event] // can be iterated once
	err    error                   // valid after the iteration: an event is missing
}

func (r *record) replay(end int64) *replay {
	p := &replay{}
	p.events = func(yield func(*oracle.Event) bool) {
		runs, err := r.runs()
		seen := 0
		for err == nil && len(runs) > 0 {
			next := runs[0]
			if next.part < len(r.parts) {
				seen++
			}
			if next.head.At <= end && !yield(&next.head) {
				return
			}
			if err = next.step(); err == io.EOF {
				heap.Pop(&runs)
				err = nil
			} else {
				heap.Fix(&runs, 0)
			}
		}
		p.err = r.missing(seen, err)
	}
	return p
}

func (r *record) missing(seen int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("chaos: %w", err)
	case seen != r.spilled:
		return fmt.Errorf("chaos: %d events of a history were written to its file, and it has %d", r.spilled, seen)
	}
	return r.err
}

func (r *record) runs() (runs runs, err error) {
	add := func(part int, next func() (oracle.Event, error)) error {
		one := &run{part: part, next: next}
		switch err := one.step(); err {
		case nil:
			runs = append(runs, one)
			return nil
		case io.EOF:
			return nil
		default:
			return err
		}
	}
	var from int64
	for i, to := range r.parts {
		part := oracle.NewReader(io.NewSectionReader(r.file, from, to-from), int(to-from))
		if err := add(i, part.Next); err != nil {
			return nil, err
		}
		from = to
	}
	r.recent.Sort()
	rest := r.recent
	err = add(len(r.parts), func() (e oracle.Event, err error) {
		if len(rest) == 0 {
			return e, io.EOF
		}
		e, rest = rest[0], rest[1:]
		return e, nil
	})
	heap.Init(&runs)
	return runs, err
}

type run struct {
	part int // orders events of equal time by arrival
	head oracle.Event
	next func() (oracle.Event, error)
}

func (r *run) step() (err error) {
	r.head, err = r.next()
	return err
}

// runs is a heap; the run with the next event is on top.
type runs []*run

func (r runs) Len() int      { return len(r) }
func (r runs) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r runs) Less(i, j int) bool {
	if a, b := r[i].head.At, r[j].head.At; a != b {
		return a < b
	}
	return r[i].part < r[j].part
}
func (r *runs) Push(x any) { *r = append(*r, x.(*run)) }
func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
