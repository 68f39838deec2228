package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/internal/numfmt"
)

// RequestsRemote and NotificationsRemote draw what an acquisition costs the
// servers, over the number of workers: a herd shows as a line that rises.
var (
	RequestsRemote = &Chart{
		Name:    "requests-distributed",
		carries: true,
		Title:   "How many requests does an acquisition cost as workers are added?",
		Doc:     lineDoc + " Counted at the clients, without keep-alives. Herd: an acquisition comes with more than 2.5 notifications. Dashed: where a herd becomes dearer than the queue on the same servers, by more than the 0.1 requests to which such counts repeat; only where the numbers of workers around it, by the intervals of both, lie less than a factor of two apart.",
		Remote:  true,
		draw:    drawRequests,
	}
	NotificationsRemote = &Chart{
		Name:   "notifications-distributed",
		Title:  "How many clients does a release wake?",
		Doc:    lineDoc + " Notifications are watch events and published messages, counted at the clients; of those that one release sends, one client gets the lock.",
		Remote: true,
		draw:   drawNotifications,
	}
)

const (
	// herdFrom is how many notifications an acquisition takes at least, on
	// average, if a release wakes clients that then do not get the lock. Two is what
	// a lock of two queues takes, such as a semaphore, however many wait.
	herdFrom = 2.5

	// wideSpread is the ratio of the most to the fewest requests from which a
	// linear axis no longer tells the frugal locks apart.
	wideSpread = 20

	mostHerds = 3 // that the answer speaks of

	// requestsRepeat is to how many requests per acquisition two runs agree; what
	// is less is no difference.
	requestsRepeat = 0.1

	// herdRule is the number of clients up to which articles on locks in ZooKeeper
	// let every waiter watch the whole queue. They give it without a measurement.
	herdRule = "about ten machines"
)

func drawRequests(g *group) picture {
	l := workersChart(g, metric.Requests, countScale)
	l.format, l.figure, l.yTitle = numfmt.Number, numfmt.Number, "requests per acquisition"
	if len(l.lines) == 0 {
		return nothing("No request was counted in this run.")
	}
	// Beside a herd all others would lie on the axis, one above the other.
	if logs := workersChart(g, metric.Requests, logScale); logs.spread() > wideSpread {
		l.y, l.lines, l.yTitle = logScale, logs.lines, l.yTitle+" (log scale)"
	}
	herds := g.herds()
	l.own = func(s *series) drawing {
		return drawCrossings(slices.DeleteFunc(slices.Clone(herds), func(h herd) bool { return s != nil && h.s != s }))
	}
	answer := wireAnswer(g, metric.Requests, "requests")
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
	return l.picture(answer+rule, wireTable(g, herds))
}

func drawNotifications(g *group) picture {
	l := workersChart(g, metric.Notifications, countScale)
	l.format, l.figure, l.yTitle = numfmt.Number, numfmt.Number, "notifications per acquisition"
	if len(l.lines) == 0 {
		return nothing("No notification was counted in this run.")
	}
	return l.picture(wireAnswer(g, metric.Notifications, "notifications"), wireTable(g, g.herds()))
}

// wireAnswer names the locks with the fewest and with the most messages, with
// the most workers.
func wireAnswer(g *group, m *metric.Metric, noun string) string {
	w := g.Crowd()
	type cost struct {
		name string
		v    float64
	}
	var cs []cost
	for _, s := range g.at(w) {
		if v := s.Cells[w].Summary(m); v.N > 0 && s.Lock.Status != harness.Control {
			cs = append(cs, cost{s.Lock.Name, v.Median})
		}
	}
	if len(cs) == 0 {
		return fmt.Sprintf("With %s, no %s were counted.", g.unit(w), noun)
	}
	slices.SortStableFunc(cs, func(a, b cost) int { return cmp.Compare(a.v, b.v) })
	least, most := cs[0], cs[len(cs)-1]
	if len(cs) == 1 {
		return fmt.Sprintf("With %s, %s takes %s %s per acquisition.", g.unit(w), least.name, numfmt.Number(least.v), noun)
	}
	return fmt.Sprintf("With %s, %s takes fewest (%s %s per acquisition) and %s most (%s).",
		g.unit(w), least.name, numfmt.Number(least.v), noun, most.name, numfmt.Number(most.v))
}

// notified returns how many notifications an acquisition of s takes with the
// most workers it was measured with, and false if that is not known.
func (g *group) notified(s *series) (float64, bool) {
	for _, w := range slices.Backward(g.Workers) {
		if v := s.Cells[w].Summary(metric.Notifications); v.N > 0 {
			return v.Median, w > 1
		}
	}
	return 0, false
}

// queue returns the queue without a herd that a lock with one is compared with:
// of those on the same kind of server, one of its own family if there is one,
// and of these the one with the fewest requests. It returns nil if s has no herd,
// or if there is no such queue.
func (g *group) queue(s *series) *series {
	if n, ok := g.notified(s); !ok || n <= herdFrom {
		return nil
	}
	var queues []*series
	for _, o := range g.series {
		n, ok := g.notified(o)
		if ok && n <= herdFrom && o.Lock.Traits.FIFO && o.Lock.Traits.Needs == s.Lock.Traits.Needs {
			queues = append(queues, o)
		}
	}
	if queues == nil {
		return nil
	}
	last := g.Workers[len(g.Workers)-1]
	cost := func(o *series) float64 { return o.Cells[last].Summary(metric.Requests).Median }
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

// A herd is a lock with one, the queue that it is compared with, and where it
// becomes the dearer one.
type herd struct {
	s, queue *series
	workers  []int // with which both were measured
	at       float64
	index    int // of crossing

	// It is dearer from somewhere between these numbers of workers on, by the
	// intervals of both where they were measured.
	low, high int
}

// closeFactor is by how much the bounds of a crossing may lie apart for it to be worth
// a number.
const closeFactor = 2

// close reports whether the measured points around the crossing are so near that it is
// worth a number.
func (h herd) close() bool {
	return h.index > 0 && h.low > 0 && h.high > 0 && h.high < closeFactor*h.low
}

// herds returns the herds of g that there is a queue to compare with.
func (g *group) herds() (out []herd) {
	for _, s := range g.series {
		h := herd{s: s, queue: g.queue(s)}
		if h.queue == nil {
			continue
		}
		var over, least, greatest []float64 // by how many requests it is beyond the count's error above the queue, and its bounds
		for _, w := range g.Workers {
			x, y := s.Cells[w].Summary(metric.Requests), h.queue.Cells[w].Summary(metric.Requests)
			if x.N > 0 && y.N > 0 {
				h.workers, over = append(h.workers, w), append(over, x.Median-y.Median-requestsRepeat)
				least, greatest = append(least, x.Lo-y.Hi-requestsRepeat), append(greatest, x.Hi-y.Lo-requestsRepeat)
			}
		}
		if len(over) == 0 {
			continue
		}
		h.at, h.index = crossing(h.workers, over)
		h.low, h.high = between(h.workers, h.index, least, greatest)
		out = append(out, h)
	}
	return out
}

// from says from how many workers on the herd costs more, for a table.
func (h herd) from() string {
	switch h.index {
	case -1:
		return fmt.Sprintf("not up to %d", h.workers[len(h.workers)-1])
	case 0:
		return fmt.Sprintf("from %d", h.workers[0])
	}
	if !h.close() {
		return "from " + h.between()
	}
	return fmt.Sprintf("from %.1f", h.at)
}

// String says from how many workers on the herd costs more than the queue.
func (h herd) String() string {
	names := fmt.Sprintf("The herd of %s costs more requests than the queue of %s", h.s.Lock.Name, h.queue.Lock.Name)
	n := len(h.workers)
	switch h.index {
	case -1:
		return fmt.Sprintf("%s only beyond N%[2]s=%[2]s%[3]d, if at all.", names, nb, h.workers[n-1])
	case 0:
		return fmt.Sprintf("%s from N%[2]s=%[2]s%[3]d on, the least measured.", names, nb, h.workers[0])
	}
	if !h.close() {
		return fmt.Sprintf("%s from a number of workers on that lies %s, too far apart to say where.", names, h.between())
	}
	return fmt.Sprintf("%s from about N%[2]s=%[2]s%[3]s on (interpolated between %[4]d and %[5]d).",
		names, nb, fmt.Sprintf("%.1f", h.at), h.workers[h.index-1], h.workers[h.index])
}

// between says between which measured numbers the crossing lies.
func (h herd) between() string {
	switch {
	case h.low == 0:
		return fmt.Sprintf("under %d", h.high)
	case h.high == 0:
		return fmt.Sprintf("above %d", h.low)
	}
	return fmt.Sprintf("between %d and %d", h.low, h.high)
}

// between returns the greatest number of workers under a crossing with which the bounds
// leave no doubt that the herd is not dearer, and the least above it from which on there
// is none that it is; 0 where there is no such number.
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

// drawCrossings marks where herds become dearer than their queues.
func drawCrossings(herds []herd) drawing {
	return func(c draw.Canvas, p *plot.Plot) {
		trX, _ := p.Transforms(&c)
		y := c.Max.Y - 4
		for _, h := range herds {
			if !h.close() {
				continue
			}
			x := trX(h.at)
			c.StrokeLine2(draw.LineStyle{Color: muted.rgba(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
			if c.Size().X > width/3 { // a small frame has no room for words
				c.FillText(typeset(7.5, muted, draw.XLeft, draw.YTop), vg.Point{X: x + 4, Y: y},
					fmt.Sprintf("N"+nb+"="+nb+"%s: from here on %s is dearer than %s", fmt.Sprintf("%.1f", h.at), h.s.Lock.Name, h.queue.Lock.Name))
				y -= 11
			}
		}
	}
}

// crossing returns where over, measured at ws, rises above zero for good,
// interpolated, and the index of the measurement from which on it is above: 0 if
// it is from the first, -1 if it is not at the last.
func crossing(ws []int, over []float64) (at float64, index int) {
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

func wireTable(g *group, herds []herd) table {
	trips := g.inTrips(metric.TurnRoundTrips, metric.HandoverRoundTrips)
	served := g.known(metric.ServerCPU, metric.ServerMemory, metric.Connections)
	t := table{head: slices.Concat(titles("lock", "workers", "rounds"), byUnit(metric.Requests), titles("interval"),
		byUnit(metric.Notifications), titles("interval", "dearer than the queue"), byUnit(served...), byName(trips...))}
	for _, s := range g.series {
		dearer := unknown
		for _, h := range herds {
			if h.s == s {
				dearer = h.from() + " (" + h.queue.Lock.Name + ")"
			}
		}
		for _, w := range g.Workers {
			c := s.Cells[w]
			if c == nil {
				continue
			}
			row := []string{s.Lock.Name, strconv.Itoa(w), strconv.Itoa(len(c.Rounds))}
			for _, m := range []*metric.Metric{metric.Requests, metric.Notifications} {
				v := c.Summary(m)
				row = append(row, cellText(m, v), interval(v, numfmt.Number))
			}
			row = append(row, dearer)
			for _, m := range slices.Concat(served, trips) {
				row = append(row, cellText(m, c.Summary(m)))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}
