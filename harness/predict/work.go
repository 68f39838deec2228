package predict

import (
	"math"

	"locklab/harness/stat"
)

type work struct {
	period, message, server, client law

	// got is the number of processors that work for servers and contenders at a time,
	// if these determine the time of a handover; 0 if period does.
	got float64

	herd  bool // messages grow with the contenders
	pairs bool // and each of them is about all contenders
}

func periodAt(p Point) stat.Summary  { return p.Period }
func messageAt(p Point) stat.Summary { return p.Message }
func serverAt(p Point) stat.Summary  { return p.Server }
func clientAt(p Point) stat.Summary  { return p.Client }
func allocAt(p Point) stat.Summary   { return p.Alloc }
func gotAt(p Point) stat.Summary     { return p.Got }

func workOf(points []Point) (w work, ok bool) {
	terms := []term{constant, perWaiter}
	w.message, _ = calibrate(readings(points, messageAt), terms...)
	w.herd = w.message.visiblyGrows(points)
	// A cost may grow by the square of the contenders only if messages grow, and each
	// of them is about all contenders. Allocations show that: they are counted, so
	// they have hardly any noise, and the content of a message is allocated.
	alloc, counted := calibrate(readings(points, allocAt), terms...)
	w.pairs = w.herd && alloc.visiblyGrows(points)
	if w.herd && (w.pairs || !counted) {
		terms = append(terms, perPair)
	}
	w.server, _ = calibrate(readings(points, serverAt), terms...)
	w.client, _ = calibrate(readings(points, clientAt), terms...)
	w.period, ok = calibrate(readings(points, periodAt), terms...)
	if !w.herd {
		return w, ok
	}
	direct := math.Inf(1)
	if ok {
		direct = leftOneOut(readings(points, periodAt), w.period.terms)
	}
	if e := w.leftOneOut(points); !math.IsInf(e, 1) && worthwhile*e <= direct {
		w.got, ok = middle(points, gotAt), true
	}
	return w, ok
}

// visible is the least share of a counted quantity, at the most contenders of a
// calibration, by which it must grow to be no accident of the fit.
const visible = 0.25

// visiblyGrows reports whether l grows by more than an accident up to the last of points.
func (l law) visiblyGrows(points []Point) bool {
	n := 1.0
	if len(points) > 0 {
		n = float64(points[len(points)-1].Contenders)
	}
	return l.at(n)-l.at(1) > visible*l.at(n)
}

func (w work) takes(n float64) float64 {
	if w.got > 0 {
		return (w.server.at(n) + w.client.at(n)) / w.got
	}
	return w.period.at(n)
}

// leftOneOut returns the error of the times of points, each predicted from the others'
// work and its own number of processors; infinite if impossible.
func (w work) leftOneOut(points []Point) float64 {
	var sum float64
	for i, p := range points {
		rest := without(points, i)
		server, known := fit(readings(rest, serverAt), w.server.terms)
		client, told := fit(readings(rest, clientAt), w.client.terms)
		got := middle(rest, gotAt)
		if !known || !told || !(got > 0) {
			return math.Inf(1)
		}
		n := float64(p.Contenders)
		e := (server.at(n)+client.at(n))/got/p.Period.Median - 1
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(points)))
}

// refit fits the same sums of terms to other points; false if they are not determined, or
// a cost would be negative.
func (w work) refit(points []Point) (work, bool) {
	for l, of := range map[*law]func(p Point) stat.Summary{&w.period: periodAt, &w.message: messageAt, &w.server: serverAt, &w.client: clientAt} {
		if len(l.terms) == 0 {
			continue
		}
		var ok bool
		if *l, ok = fit(readings(points, of), l.terms); !ok {
			return w, false
		}
	}
	if w.got > 0 {
		w.got = middle(points, gotAt)
	}
	return w, w.got > 0 || len(w.period.terms) > 0
}

func (w work) periodOf(t term) float64 {
	if w.got > 0 {
		return (w.server.of(t) + w.client.of(t)) / w.got
	}
	return w.period.of(t)
}

// unseen reports whether f grows by the square of the contenders, by the counts, while
// the times of the calibration do not show by how much.
func (w work) unseen(f *Figure) bool {
	lacks := func(l law) bool { return w.pairs && l.of(perPair) == 0 }
	switch f {
	case Rate, Wait:
		return w.got == 0 && lacks(w.period) || w.got > 0 && (lacks(w.server) || lacks(w.client))
	case ServerTime:
		return lacks(w.server)
	case ClientTime:
		return lacks(w.client)
	}
	return false
}
