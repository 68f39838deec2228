package runner

import (
	"context"
	"math"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/machine"
)

// A serverMeter finds out what a window costs the servers of a lock, over
// connections of its own, whose requests are in none of the lock's. In the window it
// asks nothing. Its nil is the meter of a lock without servers, or of servers that do
// not answer.
type serverMeter struct {
	gauge *backend.Gauge
	pids  []int

	before  backend.Usage // before the lock had a client, with what others have changed since
	left    backend.Usage // when other locks of this process had their turn
	crowded backend.Usage // after the window, while its workers still contend
	cpu     time.Duration // in the window; -1 if not known
}

// newServerMeter returns the meter of the servers that the lock of job uses. It is to
// be called before the lock has a client. If shared, other locks of this process already
// have clients there, and it does not wait until there are none.
func newServerMeter(ctx context.Context, job Job, shared bool) *serverMeter {
	if job.Lock.Remote == nil {
		return nil
	}
	lists := min(max(1, job.Lock.Traits.Servers), len(job.At.Addrs))
	servers := 0
	for _, list := range job.At.Addrs[:lists] {
		servers += len(list)
	}
	m := &serverMeter{cpu: -1}
	if len(job.At.PIDs) >= servers {
		m.pids = job.At.PIDs[:servers]
	}
	if job.Lock.Traits.Site(job.Workload).Servers > 1 {
		m.pids = job.At.PIDs // also replicas, which no client reaches
	}
	var err error
	if m.gauge, err = backend.NewGauge(ctx, job.At, lists); err != nil {
		return nil
	}
	still := stillTime
	if m.pids == nil {
		still = theirsTime
	}
	if shared {
		still = 0
	}
	read := func() (backend.Usage, error) { return m.gauge.Read(ctx) }
	if m.before, err = quiet(read, int64(servers), still); err != nil {
		m.close()
		return nil
	}
	return m
}

// The clients of the case before may have left a moment ago, and a server notices that
// when it comes to it: on a busy machine later than that.
const (
	quietPause = 2 * time.Millisecond
	quietTime  = time.Second            // for all of them to leave
	stillTime  = 100 * time.Millisecond // for one of them
	theirsTime = 20 * time.Millisecond  // likewise, of servers that the lab did not start
)

// quiet reads a gauge until its servers have no client but it, whose connections are as
// many as servers, or none has left for a while: those that the lab did not start may
// have others, which stay.
func quiet(read func() (backend.Usage, error), servers int64, still time.Duration) (u backend.Usage, err error) {
	begin := time.Now()
	least, since := int64(math.MaxInt64), begin
	for ; ; time.Sleep(quietPause) {
		if u, err = read(); err != nil {
			return u, err
		}
		now := time.Now()
		if u.Connections < least {
			least, since = u.Connections, now
		}
		if u.Connections <= servers || now.Sub(since) > still || now.Sub(begin) > quietTime {
			return u, nil
		}
	}
}

func (m *serverMeter) close() {
	if m != nil {
		m.gauge.Close()
	}
}

// used returns the CPU time that the servers have used, -1 if that is not known: by the
// clocks of their processes, else by what they say.
func (m *serverMeter) used(ctx context.Context) (sum time.Duration) {
	for _, pid := range m.pids {
		t, ok := machine.ProcessCPU(pid)
		if !ok {
			sum = -1
			break
		}
		sum += t
	}
	if len(m.pids) > 0 && sum >= 0 {
		return sum
	}
	if m.before.CPU < 0 {
		return -1
	}
	u, err := m.gauge.Read(ctx)
	if err != nil {
		return -1
	}
	return u.CPU
}

// leave is called before other locks of this process have their turn.
func (m *serverMeter) leave(ctx context.Context) {
	if m != nil {
		m.left = m.read(ctx)
	}
}

// enter is called after it. Changes since leave do not count as the lock's.
func (m *serverMeter) enter(ctx context.Context) {
	if m == nil {
		return
	}
	now := m.read(ctx)
	m.before.Memory = shifted(m.before.Memory, m.left.Memory, now.Memory)
	m.before.Connections = shifted(m.before.Connections, m.left.Connections, now.Connections)
}

// shifted returns before + now - left, -1 if one of them is not available.
func shifted(before, left, now int64) int64 {
	if min(before, left, now) < 0 {
		return -1
	}
	return max(0, before+now-left)
}

// begin is called right before the window.
func (m *serverMeter) begin(ctx context.Context) {
	if m != nil {
		m.cpu = m.used(ctx)
	}
}

// end is called right after it.
func (m *serverMeter) end(ctx context.Context) {
	if m == nil {
		return
	}
	if now := m.used(ctx); m.cpu >= 0 && now >= m.cpu {
		m.cpu = now - m.cpu
	} else {
		m.cpu = -1
	}
}

// crowd is called after the window, while all workers still contend and nothing is
// recorded any more.
func (m *serverMeter) crowd(ctx context.Context) {
	if m == nil {
		return
	}
	m.crowded = m.read(ctx)
}

// read returns what the servers use, -1 for each figure if they do not answer.
func (m *serverMeter) read(ctx context.Context) backend.Usage {
	u, err := m.gauge.Read(ctx)
	if err != nil {
		return backend.Usage{CPU: -1, Memory: -1, Connections: -1}
	}
	return u
}

// cost returns what m found out, nil if that is nothing.
func (m *serverMeter) cost() *harness.ServerCost {
	if m == nil {
		return nil
	}
	c := &harness.ServerCost{
		Memory:      grown(m.before.Memory, m.crowded.Memory),
		Connections: grown(m.before.Connections, m.crowded.Connections),
	}
	if m.cpu >= 0 {
		c.CPU = &m.cpu
	}
	if *c == (harness.ServerCost{}) {
		return nil
	}
	return c
}

// grown returns by how much a figure has, nil if one of the two is not known, or if
// others have given up more meanwhile than the lock took.
func grown(before, after int64) *int64 {
	if before < 0 || after < before {
		return nil
	}
	d := after - before
	return &d
}
