package page

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// vary returns copies of the results of run with another workload and factor times the rate.
func vary(run *result.Run, set func(w *harness.Workload), factor float64) (out []*harness.Result) {
	for _, r := range run.Results {
		c := *r
		set(&c.Workload)
		c.Ops, c.Handovers = uint64(float64(c.Ops)*factor), uint64(float64(c.Handovers)*factor)
		out = append(out, &c)
	}
	return out
}

var otherSettings = map[string]func(w *harness.Workload){
	"pinning": func(w *harness.Workload) { w.Pin = harness.PinCPU },
	"hold":    func(w *harness.Workload) { w.Hold.Mean = 10 * time.Microsecond },
}

// TestHerd: a queue with five requests and a herd with one more per worker. The herd is named
// from the number of workers at which it costs more, by the intervals.
func TestHerd(t *testing.T) {
	queue := synthetic.Model{Lock: synthetic.Served("queue", harness.ZooKeeper, harness.KindZooKeeper), Rate: synthetic.Constant(500), Handed: 1}
	queue.Lock.Traits.FIFO = true
	herd := queue
	herd.Lock.Name = "herd"
	for _, c := range []struct {
		workers []int
		more    func(round int) uint64 // requests of the herd beyond one for each worker
		want    string
	}{
		{[]int{1, 2, 3, 4, 8}, func(int) uint64 { return 2 }, "Herds that cost more requests than a queue: herd more than queue from 4 workers on."},
		{[]int{1, 2, 8, 16}, func(int) uint64 { return 2 }, "from 8 workers on."},
		{[]int{1, 2, 4, 8}, func(round int) uint64 { return uint64(round % 3) }, "from 8 workers on."}, // the rounds disagree
		{[]int{1, 2, 3}, func(int) uint64 { return 2 }, "With 3 workers, herd has the most requests per acquisition (5), 1 times that of queue, the fewest (5)."},
	} {
		run := synthetic.Run(1, 6, 2, c.workers, queue, herd)
		for _, r := range run.Results {
			*r.Wire = harness.Counts{Requests: 5 * r.Ops, Notifications: r.Ops}
			if n := uint64(r.Workload.Workers); r.Lock.Name == "herd" {
				*r.Wire = harness.Counts{Requests: (n + c.more(r.Round)) * r.Ops, Notifications: n * r.Ops}
			}
		}
		if got := numfmt.Plain(chart.DrawRequests(chart.Groups(run)[0]).Answer); !strings.HasSuffix(got, c.want) {
			t.Errorf("%v workers: the answer is %q, want %q", c.workers, got, c.want)
		}
	}
}

func TestManyGroups(t *testing.T) {
	run := &result.Run{}
	for i := range 60 {
		part := synthetic.Zoo(1)
		for _, r := range part.Results {
			r.Workload.Think.Mean = time.Duration(i) * time.Microsecond
		}
		run.Results = append(run.Results, part.Results...)
	}
	var buf bytes.Buffer
	if err := WriteHTML(&buf, run); err != nil {
		t.Fatal(err)
	}
	if n := buf.Len(); n > 3<<20 {
		t.Errorf("the page is %d bytes, want at most 3 MiB", n)
	}
	for _, want := range []string{`<details class="group">`, "Not drawn by themselves"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
