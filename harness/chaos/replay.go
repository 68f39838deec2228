package chaos

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"

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
			next := slices.MinFunc(runs, func(a, b *run) int { return cmp.Compare(a.head.At, b.head.At) }) // the first of equal ones
			if next.part < len(r.parts) {
				seen++
			}
			if next.head.At <= end && !yield(&next.head) {
				return
			}
			if err = next.step(); err == io.EOF {
				runs, err = slices.DeleteFunc(runs, func(one *run) bool { return one == next }), nil
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

// runs returns the runs of a record, in order of arrival.
func (r *record) runs() (runs []*run, err error) {
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
	return runs, err
}

type run struct {
	part int
	head oracle.Event
	next func() (oracle.Event, error)
}

func (r *run) step() (err error) {
	r.head, err = r.next()
	return err
}
