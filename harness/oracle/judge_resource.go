package oracle

import "locklab/harness"

// resource follows the writes through two resources, one that accepts all and one that
// refuses lesser tokens. Events of kind Wrote must be in the order of their arrival at
// the resource.
//
// A reader's write must not come after a later writer's, and makes no other write stale.
// A writer that lost the lock has a lesser token than a reader after it, so the resource
// also remembers readers' tokens.
func (j *Judgement) resource(r Rules, c *collector) {
	if r.Permits > 1 {
		return
	}
	var plain, fenced register
	for i := range c.writes.n {
		e := c.writes.at(i)
		by := e.hold
		hold := &j.Holds[by]
		if later, stale := plain.write(by, hold); stale {
			if j.PlainStale++; j.PlainStale == 1 && !r.Fenced {
				j.stale(e, hold, &j.Holds[later])
			}
		}
		if r.Fenced {
			j.fenced(e, by, &fenced)
		}
	}
}

// fenced lets f, which refuses lesser tokens, judge the write e of hold by.
func (j *Judgement) fenced(e *written, by int, f *register) {
	hold := &j.Holds[by]
	takes := f.takes(e.token, hold.Shared)
	if takes != e.taken {
		if j.Disagreed++; j.Disagreed == 1 {
			j.find("", e.at, e.at, "the resource took %v a write with token %d of worker %d, and its rule says %v: it has seen %d, and %d of writers",
				e.taken, e.token, hold.Worker, takes, f.greatest, f.writers)
		}
	}
	if !takes {
		j.Refused++
		if _, stale := f.behind(by); !stale {
			j.RefusedNewest++
		}
		return
	}
	f.remember(e.token, hold.Shared)
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

type register struct {
	greatest, writers uint64 // greatest accepted token, and greatest of a writer
	latest            int    // 1 + the index of the latest granted writer that has written
}

func (f *register) takes(token uint64, shared bool) bool {
	if shared {
		return token >= f.writers
	}
	return token >= f.greatest
}

func (f *register) remember(token uint64, shared bool) {
	f.greatest = max(f.greatest, token)
	if !shared {
		f.writers = max(f.writers, token)
	}
}

func (f *register) write(by int, hold *Held) (later int, stale bool) {
	later, stale = f.behind(by)
	if !hold.Shared {
		f.latest = max(f.latest, by+1)
	}
	return later, stale
}

func (f *register) behind(by int) (later int, stale bool) { return f.latest - 1, f.latest-1 > by }
