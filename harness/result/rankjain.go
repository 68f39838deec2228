package result

import "locklab/harness"

// RankJain is Jain's fairness index between the ranks of a case, the processes that share
// its workers, in percent. For the acquisitions per worker x of each of n ranks it is 100
// · (Σx)² / (n · Σx²), over the window. It exists for merged results only. It is low if
// workers of one process are served before others, even if each process is fair inside.
//
// Source: as [Jain].
var RankJain = between("rank-jain", "jain-rank-%", "Jain's fairness index of acquisitions per worker between ranks",
	func(k harness.Rank) any { return k.Rank })

// HostJain is [RankJain] between hosts: the ranks of a host count as one.
var HostJain = between("host-jain", "jain-host-%", "Jain's fairness index of acquisitions per worker between hosts",
	func(k harness.Rank) any { return k.Host })

func between(name, unit, doc string, place func(k harness.Rank) any) *Metric {
	return &Metric{Name: name, Unit: unit, Doc: doc, Paper: "Jain, Chiu & Hawe 1984", Better: Higher,
		Of: func(r *harness.Result) (float64, bool) {
			if r.Workload.Rate > 0 { // counts per worker mean nothing
				return 0, false
			}
			each, ok := perWorker(r, place)
			if !ok || len(each) < 2 {
				return 0, false
			}
			return 100 * jain(each), true
		}}
}

// perWorker returns the acquisitions per worker of each group of ranks with equal place,
// in the order of their first rank. It returns false if r was not merged, or nothing was
// acquired.
func perWorker(r *harness.Result, place func(k harness.Rank) any) (each []float64, ok bool) {
	if len(r.Ranks) < 2 {
		return nil, false
	}
	type sum struct{ ops, workers float64 }
	var sums []*sum
	at := make(map[any]*sum)
	var total float64
	for _, k := range r.Ranks {
		if k.Workers < 1 {
			return nil, false
		}
		s := at[place(k)]
		if s == nil {
			s = new(sum)
			at[place(k)], sums = s, append(sums, s)
		}
		s.ops += float64(k.Ops)
		s.workers += float64(k.Workers)
		total += float64(k.Ops)
	}
	for _, s := range sums {
		each = append(each, s.ops/s.workers)
	}
	return each, total > 0
}
