package oracle

import "locklab/harness"

// resource follows the writes through two resources, one that accepts all and one that refuses
// lesser tokens. Events of kind Wrote must be in the order of their arrival at the resource.
//
// A reader's write must not come after a later writer's, and makes no other write stale. A
// writer that lost the lock has a lesser token than a reader after it, so the resource also
// remembers readers' tokens.
func (j *Judgement) resource(r Rules, c *collector) {
	if r.Permits > 1 {
		return
	}
	var plain, fenced register
	var guarded Resource
	for i := range c.writes {
		e := &c.writes[i]
		by := e.hold
		hold := &j.Holds[by]
		if later, stale := plain.write(by, hold); stale {
			if j.PlainStale++; j.PlainStale == 1 && !r.Fenced {
				j.stale(e, hold, &j.Holds[later])
			}
		}
		if r.Fenced {
			j.fenced(e, by, &fenced, &guarded)
		}
	}
}

// fenced lets guarded, which refuses lesser tokens, judge the write e of hold by.
func (j *Judgement) fenced(e *written, by int, f *register, guarded *Resource) {
	hold := &j.Holds[by]
	seen := *guarded
	takes := guarded.Take(e.token, hold.Shared)
	if takes != e.taken {
		if j.Disagreed++; j.Disagreed == 1 {
			j.find("", e.at, e.at, "the resource took %v a write with token %d of worker %d, and its rule says %v: it has seen %d, and %d of writers",
				e.taken, e.token, hold.Worker, takes, seen.greatest, seen.writer)
		}
	}
	if !takes {
		j.Refused++
		if _, stale := f.behind(by); !stale {
			j.RefusedNewest++
		}
		return
	}
	if later, stale := f.write(by, hold); stale {
		if j.FencedStale++; j.FencedStale == 1 {
			j.stale(e, hold, &j.Holds[later])
		}
	}
}

func (j *Judgement) stale(e *written, by, later *Held) {
	j.find(harness.StaleWrite, e.at, e.at, "the resource took a write of worker %d, which was granted the lock at %v with token %d, after one of worker %d, at %v with token %d",
		by.Worker, j.since(by.Acquired), by.Token, later.Worker, j.since(later.Acquired), later.Token)
}

// A Resource is guarded by a lock. It remembers the greatest token of a write and refuses
// lesser ones (Kleppmann 2016, "How to do distributed locking").
type Resource struct {
	greatest, writer uint64 // greatest accepted token, and greatest of a writer
}

// Take reports whether the resource accepts a write.
func (r *Resource) Take(token uint64, shared bool) bool {
	if token < r.writer || !shared && token < r.greatest {
		return false
	}
	r.greatest = max(r.greatest, token)
	if !shared {
		r.writer = token
	}
	return true
}

// A register is 1 + the index of the latest granted writer that has written.
type register int

func (f *register) write(by int, hold *Held) (later int, stale bool) {
	later, stale = f.behind(by)
	if !hold.Shared {
		*f = max(*f, register(by+1))
	}
	return later, stale
}

func (f register) behind(by int) (later int, stale bool) { return int(f) - 1, int(f)-1 > by }
