package chart

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// RequestsRemote draws the requests of an acquisition: a thundering herd is a rising line.
var RequestsRemote = &Chart{
	Name:    "requests-distributed",
	Carries: true,
	Title:   "How many requests does an acquisition cost as workers are added?",
	Doc:     lineDoc + " Counted at the clients, without keep-alives. Herd: an acquisition comes with more than 2.5 notifications. Dashed: where a herd becomes dearer than the queue on the same servers, by more than the 0.1 requests to which such counts repeat; only where the numbers of workers around it, by the intervals of both, lie less than a factor of two apart.",
	Remote:  true,
	Draw:    DrawRequests,
}

const (
	// herdFrom is the least mean of notifications per acquisition of a herd. A lock with two
	// queues, such as a semaphore, takes two for any number of waiters.
	herdFrom = 2.5

	// wideSpread is the ratio of requests above which a linear axis no longer separates locks.
	wideSpread = 20

	mostHerds = 3 // in the answer

	// requestsRepeat is the repeatability of requests per acquisition between two runs;
	// smaller differences do not count.
	requestsRepeat = 0.1

	// herdRule is the limit from articles on ZooKeeper locks for the number of clients that
	// may all watch the whole queue. The articles give no measurement.
	herdRule = "about ten machines"
)

func DrawRequests(g *Group) Picture {
	l := workersChart(g, result.Requests, draw.CountScale)
	l.Format, l.Figure, l.YTitle = numfmt.Number, numfmt.Number, "requests per acquisition"
	if len(l.Lines) == 0 {
		return nothing("No request was counted in this run.")
	}
	// With a herd on a linear axis, all other lines would lie on the axis.
	if logs := workersChart(g, result.Requests, draw.LogScale); logs.Spread() > wideSpread {
		l.Y, l.Lines, l.YTitle = draw.LogScale, logs.Lines, l.YTitle+" (log scale)"
	}
	herds := g.Herds()
	l.Own = func(name string) draw.Layer { return drawCrossings(name, herds) }
	answer := wireAnswer(g)
	rule := ""
	for i, h := range herds {
		if i == mostHerds {
			answer += " The numbers have " + numfmt.Plural(len(herds)-i, "more herd") + "."
			break
		}
		answer += " " + h.String()
		if h.s.Lock.Traits.Needs == harness.KindZooKeeper {
			rule = " The rule of thumb in articles on ZooKeeper locks is " + herdRule + "."
		}
	}
	return ofLines(l, answer+rule, wireTable(g, herds), g.source(result.Requests))
}

func wireAnswer(g *Group) string {
	w := g.Crowd()
	fs := g.figures(w, result.Requests)
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, no requests were counted.", g.unit(w))
	}
	return fmt.Sprintf("With %s, %s.", g.unit(w), extremes(fs, "the most requests per acquisition", "the fewest", numfmt.Number))
}

// notified returns the notifications per acquisition of s at the most workers, if known.
func (g *Group) notified(s *series) (float64, bool) {
	for _, w := range slices.Backward(g.Workers) {
		if v := s.Cells[w].Summary(result.Notifications); v.N > 0 {
			return v.Median, w > 1
		}
	}
	return 0, false
}

// queue returns the queue without a herd to compare s with, on the same kind of server, of the
// same family if possible, with the fewest requests, or nil.
func (g *Group) queue(s *series) *series {
	if n, ok := g.notified(s); !ok || n <= herdFrom {
		return nil
	}
	var queues []*series
	for _, o := range g.Locks {
		n, ok := g.notified(o)
		if ok && n <= herdFrom && o.Lock.Traits.FIFO && o.Lock.Traits.Needs == s.Lock.Traits.Needs {
			queues = append(queues, o)
		}
	}
	if queues == nil {
		return nil
	}
	last := g.Workers[len(g.Workers)-1]
	cost := func(o *series) float64 { return o.Cells[last].Summary(result.Requests).Median }
	stranger := func(o *series) int {
		if o.Lock.Family == s.Lock.Family {
			return 0
		}
		return 1
	}
	return slices.MinFunc(queues, func(a, b *series) int {
		return cmp.Or(cmp.Compare(stranger(a), stranger(b)), cmp.Compare(cost(a), cost(b)))
	})
}

// A herd is a lock with a herd, the queue to compare it with, and the crossing of their costs.
type herd struct {
	s, queue *series
	workers  []int // both were measured with these
	at       float64
	index    int // of crossing

	// The crossing lies between low and high workers, by the intervals of both locks.
	low, high int
}

// closeFactor is the greatest ratio of the bounds of a crossing that is reported as a number.
const closeFactor = 2

func (h herd) Close() bool {
	return h.index > 0 && h.low > 0 && h.high > 0 && h.high < closeFactor*h.low
}

// Herds returns the herds of g that have a queue to compare with.
func (g *Group) Herds() (out []herd) {
	for _, s := range g.Locks {
		h := herd{s: s, queue: g.queue(s)}
		if h.queue == nil {
			continue
		}
		var over, least, greatest []float64 // requests beyond the queue and the count's error, with bounds
		for _, w := range g.Workers {
			x, y := s.Cells[w].Summary(result.Requests), h.queue.Cells[w].Summary(result.Requests)
			if x.N > 0 && y.N > 0 {
				h.workers, over = append(h.workers, w), append(over, x.Median-y.Median-requestsRepeat)
				least, greatest = append(least, x.Lo-y.Hi-requestsRepeat), append(greatest, x.Hi-y.Lo-requestsRepeat)
			}
		}
		if len(over) == 0 {
			continue
		}
		h.at, h.index = Crossing(h.workers, over)
		h.low, h.high = between(h.workers, h.index, least, greatest)
		out = append(out, h)
	}
	return out
}

func (h herd) from() string {
	switch {
	case h.index == -1:
		return fmt.Sprintf("beyond %s, if at all", numfmt.Plural(h.workers[len(h.workers)-1], "worker"))
	case h.index == 0:
		return fmt.Sprintf("from %s, the fewest measured", numfmt.Plural(h.workers[0], "worker"))
	case h.Close():
		return fmt.Sprintf("from %.1f workers, interpolated between %d and %d", h.at, h.workers[h.index-1], h.workers[h.index])
	case h.low == 0:
		return fmt.Sprintf("from under %d workers", h.high)
	case h.high == 0:
		return fmt.Sprintf("from above %d workers", h.low)
	}
	return fmt.Sprintf("from between %d and %d workers", h.low, h.high)
}

// String describes the number of workers from which the herd costs more than the queue.
func (h herd) String() string {
	return fmt.Sprintf("The herd of %s costs more requests than the queue of %s %s.", h.s.Lock.Name, h.queue.Lock.Name, h.from())
}

// between returns the bounds of a crossing: the greatest number of workers at which the herd
// surely costs no more, and the least from which it surely does, or 0.
func between(ws []int, index int, least, greatest []float64) (low, high int) {
	for i := 0; i < index; i++ {
		if greatest[i] <= 0 {
			low = ws[i]
		}
	}
	for i := len(ws) - 1; index > 0 && i >= index && least[i] > 0; i-- {
		high = ws[i]
	}
	return low, high
}

// drawCrossings marks the crossing of the herd called name, below other texts.
func drawCrossings(name string, herds []herd) draw.Layer {
	return func(c vgdraw.Canvas, p *plot.Plot) {
		trX, _ := p.Transforms(&c)
		y := c.Max.Y - 4
		for _, h := range herds {
			if !h.Close() {
				continue
			}
			if x := trX(h.at); h.s.Lock.Name == name {
				c.StrokeLine2(vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
				if c.Size().X > draw.Width/3 { // a small frame has no room for words
					c.FillText(draw.Typeset(7.5, draw.Muted, vgdraw.XLeft, vgdraw.YTop), vg.Point{X: x + 4, Y: y},
						fmt.Sprintf("N"+numfmt.Space+"="+numfmt.Space+"%.1f: from here on %s is dearer than %s", h.at, h.s.Lock.Name, h.queue.Lock.Name))
				}
			}
			y -= 11
		}
	}
}

// Crossing returns the interpolated point from which over, measured at ws, stays above
// zero. index is the first measurement above: 0 if all are, -1 if the last is not.
func Crossing(ws []int, over []float64) (at float64, index int) {
	i := len(over)
	for i > 0 && over[i-1] > 0 {
		i--
	}
	switch {
	case i == len(over):
		return 0, -1
	case i == 0:
		return 0, 0
	}
	from, to := float64(ws[i-1]), float64(ws[i])
	return from + (to-from)*-over[i-1]/(over[i]-over[i-1]), i
}

func wireTable(g *Group, herds []herd) Table {
	dearer := column{Piece{Text: "dearer than the queue"}, func(s *series, _ *Cell) string {
		for _, h := range herds {
			if h.s == s {
				return h.from() + " (" + h.queue.Lock.Name + ")"
			}
		}
		return numfmt.Unknown
	}}
	return g.table(nil, withInterval(result.Requests.Unit, result.Requests), withInterval(result.Notifications.Unit, result.Notifications), []column{dearer},
		inUnits(g.known(result.ServerCPU, result.ServerMemory, result.Connections)...), metrics(g.inTrips(result.TurnRoundTrips, result.HandoverRoundTrips)...))
}
