package oracle

import (
	"slices"
	"time"
)

// Excerpt returns the events of h around the first finding of j that is a harm, or the
// first of any kind, within around before and after it. It returns nil if j found
// nothing. It adds the earlier and later events of the holds that touch this time: they
// show the holder and the times.
func Excerpt(h History, j Judgement, around time.Duration) History {
	f, ok := j.first()
	if !ok {
		return nil
	}
	from, to := f.From-int64(around), f.To+int64(around)
	keep := make(map[int][]pause) // by worker
	for i := range j.Holds {
		if a := &j.Holds[i]; a.Acquired <= to && a.Releasing >= from {
			end := a.Releasing
			if !a.Lost && !a.Killed && a.Released >= end && a.Released <= j.End {
				end = a.Released
			}
			keep[a.Worker] = append(keep[a.Worker], pause{a.Requested, end})
		}
	}
	var out History
	for i := range h {
		e := &h[i]
		if from <= e.At && e.At <= to || slices.ContainsFunc(keep[e.Worker], func(p pause) bool { return p.from <= e.At && e.At <= p.to }) {
			out = append(out, *e)
		}
	}
	out.Sort()
	return out
}

func (j *Judgement) first() (Finding, bool) {
	i := slices.IndexFunc(j.Findings, func(f Finding) bool { return f.Harm != "" })
	if i < 0 && len(j.Findings) > 0 {
		i = 0
	}
	if i < 0 {
		return Finding{}, false
	}
	return j.Findings[i], true
}
