package oracle

// resource follows the writes. Events of kind Wrote must be in the order of their arrival.
//
// A reader's write must not come after a later writer's, and makes no other write stale. A
// writer that lost the lock has a lesser token than a reader after it, so the resource also
// remembers readers' tokens.
func (j *Judgement) resource(r Rules, c *collector) {
	if r.Permits > 1 {
		return
	}
	latest := -1 // the latest granted writer that has written
	var guarded Resource
	for i := range c.writes {
		e := &c.writes[i]
		hold := &j.Holds[e.hold]
		if r.Fenced && !j.takes(e, &guarded) {
			j.Refused++
			continue
		}
		if latest > e.hold {
			if j.Stale++; j.Stale == 1 {
				j.stale(e, hold, &j.Holds[latest])
			}
		}
		if !hold.Shared {
			latest = max(latest, e.hold)
		}
	}
}

// takes reports whether the resource, which refuses lesser tokens, accepts a write.
func (j *Judgement) takes(e *written, guarded *Resource) bool {
	hold, seen := &j.Holds[e.hold], *guarded
	takes := guarded.Take(e.token, hold.Shared)
	if takes != e.taken {
		if j.Disagreed++; j.Disagreed == 1 {
			j.find("", e.at, e.at, "the resource took %v a write with token %d of worker %d, and its rule says %v: it has seen %d, and %d of writers",
				e.taken, e.token, hold.Worker, takes, seen.greatest, seen.writer)
		}
	}
	return takes
}

func (j *Judgement) stale(e *written, by, later *Held) {
	j.find(StaleWrite, e.at, e.at, "the resource took a write of worker %d, which was granted the lock at %v with token %d, after one of worker %d, at %v with token %d",
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
