package result

import (
	"cmp"
	"slices"
	"time"

	"locklab/harness"
)

// A MergeRule describes how a field of a result is merged.
type MergeRule struct {
	Field string // of Result
	How   string // in words, for readers

	merge func(out *Result, g *group)
}

// MergeRules has one rule for each field of a result.
var MergeRules = []*MergeRule{
	{"Lock", "the same in all parts", func(out *Result, g *group) { out.Lock = g.parts[0].Lock }},
	{"Workload", "the same in all parts: the workload of the whole case", func(out *Result, g *group) { out.Workload = g.parts[0].Workload }},
	{"Round", "the same in all parts", func(out *Result, g *group) { out.Round = g.parts[0].Round }},
	{"Started", "the earliest", fold(func(r *Result) *time.Time { return &r.Started }, earlier)},
	{"Elapsed", "from when the first window opened until the last one closed, on the common clock", func(out *Result, g *group) {
		from, to := g.windows.all()
		out.Elapsed = time.Duration(to - from)
	}},
	{"Ops", "sum", fold(func(r *Result) *uint64 { return &r.Ops }, func(a, b uint64) uint64 { return a + b })},
	{"Workers", "one after the other, in the order of ranks", fold(func(r *Result) *[]uint64 { return &r.Workers },
		func(a, b []uint64) []uint64 { return slices.Concat(a, b) })},
	{"Handovers", "counted again in the order of all holds, while all ranks measured; 0 if the order is not known", func(out *Result, g *group) { out.Handovers = min(g.ordered.handovers, out.Ops) }},
	{"Wait", "histograms added up", fold(func(r *Result) *Histogram { return &r.Wait }, Histogram.Merge)},
	{"Handover", "measured again in the order of all holds, without those whose error is above a tenth; empty if the order is not known", func(out *Result, g *group) { out.Handover = g.ordered.handover }},
	{"HandoverWait", "measured again in the order of all holds; empty if the order is not known", func(out *Result, g *group) { out.HandoverWait = g.ordered.wait }},
	{"Hold", "sums", fold(func(r *Result) *Spans { return &r.Hold }, Spans.Merge)},
	{"Think", "sums", fold(func(r *Result) *Spans { return &r.Think }, Spans.Merge)},
	{"Owners", "the workers of all holds in their order, the first 16384; none if the order is not known", func(out *Result, g *group) { out.Owners = g.ordered.owners }},
	{"Burst", "one burst, as long as Owners", func(out *Result, g *group) { out.Burst = len(g.ordered.owners) }},
	{"Ranks", "all, in order", func(out *Result, g *group) { out.Ranks = g.ranks }},
	{"Holds", "none, because the parts keep them", func(*Result, *group) {}},
	{"HoldsLost", "none", func(*Result, *group) {}},
	{"BucketCounts", "joined, if the windows opened within a twentieth of a bucket; else none. A rank with one worker has buckets computed from its holds", func(out *Result, g *group) { out.BucketCounts = g.bucketCounts() }},
	{"Unserved", "the greatest", fold(func(r *Result) *time.Duration { return &r.Unserved }, greater)},
	{"Open", "sums; Span, Lag50 and Lag99 are the greatest of a rank, an upper bound", fold(func(r *Result) **OpenLoop { return &r.Open }, addLoads)},
	{"SampleEvery", "the greatest", fold(func(r *Result) *int { return &r.SampleEvery }, greater)},
	{"ClockFloor", "the greatest", fold(func(r *Result) *float64 { return &r.ClockFloor }, greater)},
	{"ClockStep", "the greatest", fold(func(r *Result) *float64 { return &r.ClockStep }, greater)},
	{"Clock", "from rank 0, with a note if others differ", func(out *Result, g *group) { out.Clock = g.clock() }},
	{"Transfer", "none, because distributed locks have none", func(*Result, *group) {}},
	{"RoundTrip", "the median rank's, if the longest is at most 1.5 times the shortest; else unknown", func(out *Result, g *group) { out.RoundTrip = g.roundTrip() }},
	{"Trips", "of the first rank that has them", fold(func(r *Result) **Trips { return &r.Trips }, func(a, b *Trips) *Trips { return cmp.Or(a, b) })},
	{"Overlap", "the least, times the share of Elapsed in which all windows were open", func(out *Result, g *group) { out.Overlap = g.overlap() }},
	{"CPU", "sums", fold(func(r *Result) *ClientCost { return &r.CPU }, ClientCost.add)},
	{"Wire", "sums; nothing if a rank has none", fold(func(r *Result) **harness.Counts { return &r.Wire }, addCounts)},
	{"Servers", "from rank 0, because all ranks see the same servers", func(out *Result, g *group) { out.Servers = g.parts[0].Servers }},
	{"Noise", "the worst of all hosts in each figure; the use of other ranks on a host does not count as others", func(out *Result, g *group) { out.Noise = g.noise() }},
	{"Blocks", "none, because ranks measure distributed locks", func(*Result, *group) {}},
	{"Retries", "all, each with its rank", func(out *Result, g *group) {
		for _, p := range g.parts {
			out.Retries = append(out.Retries, retries(p)...)
		}
	}},
	{"Violations", "from the holds of all ranks; if a rank has violations, the result has only these", func(out *Result, g *group) { out.Violations = g.violations }},
	{"Warnings", "one of each kind and host, and the limits of the clocks", func(out *Result, g *group) { out.Warnings = pool(g.warnings) }},
}

func fold[T any](field func(r *Result) *T, add func(a, b T) T) func(*Result, *group) {
	return func(out *Result, g *group) {
		*field(out) = *field(g.parts[0])
		for _, p := range g.parts[1:] {
			*field(out) = add(*field(out), *field(p))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func greater[N cmp.Ordered](a, b N) N { return max(a, b) }

func addCounts(a, b *harness.Counts) *harness.Counts {
	if a == nil || b == nil {
		return nil
	}
	sum := a.Add(*b)
	return &sum
}

func addLoads(a, b *OpenLoop) *OpenLoop {
	if a == nil || b == nil {
		return nil
	}
	return &OpenLoop{Offered: a.Offered + b.Offered, Dropped: a.Dropped + b.Dropped, Backlog: a.Backlog + b.Backlog,
		Late: a.Late + b.Late, Behind: a.Behind + b.Behind,
		Span: max(a.Span, b.Span), Lag50: max(a.Lag50, b.Lag50), Lag99: max(a.Lag99, b.Lag99)}
}

func (g *group) clock() (name string) {
	for _, p := range g.parts {
		if name = cmp.Or(name, p.Clock); p.Clock != name {
			return name + " and others"
		}
	}
	return name
}

func (g *group) overlap() float64 {
	least := slices.Min(Each(g.parts, func(p *Result) float64 { return p.Overlap }))
	from, to := g.windows.all()
	first, last := g.windows.both()
	if to <= from {
		return 0
	}
	return least * float64(max(0, last-first)) / float64(to-from)
}

// bucketCounts returns the acquisitions of each worker of all ranks in each bucket, or nil if
// they are unknown for a rank, or the buckets of ranks are not aligned.
func (g *group) bucketCounts() []uint32 {
	const length = int64(harness.BucketLength)
	first, _ := g.windows.both()
	from, _ := g.windows.all()
	apart := first - from + g.clocks.worst()
	if !g.clocks.known || apart > length/20 {
		if slices.ContainsFunc(g.parts, func(p *Result) bool { return len(p.BucketCounts) > 0 }) {
			g.warn(measureCloser, "the windows of the ranks may have opened more than %v apart: shares within buckets of %v are not known", time.Duration(length/20), harness.BucketLength)
		}
		return nil
	}
	count := -1
	each := make([][]uint32, len(g.parts))
	for i, p := range g.parts {
		if each[i] = p.BucketCounts; len(p.Workers) == 1 && len(p.BucketCounts) == 0 {
			each[i] = g.finished(i)
		}
		n := len(p.Workers)
		if n == 0 || len(each[i]) == 0 || len(each[i])%n != 0 {
			return nil
		}
		if have := len(each[i]) / n; count < 0 || have < count {
			count = have
		}
	}
	count = min(count, MaxNumbers/(len(g.parts)*len(g.parts[0].Workers))) // no rank has more workers than the first
	var out []uint32
	for s := range count {
		for i, p := range g.parts {
			n := len(p.Workers)
			out = append(out, each[i][s*n:(s+1)*n]...)
		}
	}
	return out
}

func (g *group) finished(i int) []uint32 {
	p, k := g.parts[i], g.ranks[i]
	if !g.whole(i) {
		return nil
	}
	out := make([]uint32, min((k.Closed-k.Opened)/int64(harness.BucketLength), maxBuckets))
	for _, h := range p.Holds {
		if s := (k.Zero + h.Releasing - k.Opened) / int64(harness.BucketLength); k.Zero+h.Releasing >= k.Opened && s < int64(len(out)) {
			out[s]++
		}
	}
	return out
}

const maxBuckets = int64(harness.MaxWindow / harness.BucketLength)
