package measure

import (
	"context"
	"math"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/machine"
)

// A serverMeter measures the cost of a window for a lock's servers, by its own connections.
// All of them are closed in the window.
type serverMeter struct {
	at    harness.Endpoint
	lists int // of at.Addrs that the lock uses; 0 if all figures are unknown
	pids  []int

	before backend.Usage // before the lock had a client, plus later changes by others
	left   backend.Usage // when other locks of this process began their turn
	peak   backend.Usage // after the window, while its workers still contend
	cpu    time.Duration // at the start of the window, later in the window; -1 if not known
}

func newUnknownMeter() *serverMeter {
	return &serverMeter{before: backend.UnknownUsage, left: backend.UnknownUsage, peak: backend.UnknownUsage, cpu: -1}
}

// newServerMeter must be called before the lock has a client. If shared, it does not wait for
// the end of other locks' clients.
func newServerMeter(ctx context.Context, job Job, shared bool) *serverMeter {
	if job.Lock.Remote == nil {
		return newUnknownMeter()
	}
	lists := min(max(1, job.Lock.Traits.Servers), len(job.At.Addrs))
	servers := len(slices.Concat(job.At.Addrs[:lists]...))
	m := newUnknownMeter()
	m.at, m.lists = job.At, lists
	if len(job.At.PIDs) >= servers {
		m.pids = job.At.PIDs[:servers]
	}
	if SiteOf(job.Lock.Traits, job.Workload).Servers > 1 {
		m.pids = job.At.PIDs // also replicas, which no client reaches
	}
	still := stillTime
	if m.pids == nil {
		still = theirsTime
	}
	if shared {
		still = 0
	}
	var err error
	read := func() (backend.Usage, error) { return backend.ReadUsage(ctx, m.at, m.lists) }
	if m.before, err = quiet(read, int64(servers), still); err != nil {
		return newUnknownMeter()
	}
	return m
}

// The previous case's clients may have left only now, which a busy server notices late.
const (
	quietPause = 2 * time.Millisecond
	quietTime  = time.Second            // for all of them to leave
	stillTime  = 100 * time.Millisecond // for each of them
	theirsTime = 20 * time.Millisecond  // the same for servers of the user
)

// quiet reads a gauge until its servers have only its connections, or no client has left for a
// while: foreign ones stay.
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

// used returns the servers' CPU time by their processes' clocks or own reports; -1 if unknown.
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
	return m.read(ctx).CPU
}

// leave must be called before the turn of other locks in this process.
func (m *serverMeter) leave(ctx context.Context) {
	m.left = m.read(ctx)
}

// enter must be called after that turn. Changes since leave do not count as the lock's.
func (m *serverMeter) enter(ctx context.Context) {
	now := m.read(ctx)
	m.before.Memory = shifted(m.before.Memory, m.left.Memory, now.Memory)
	m.before.Connections = shifted(m.before.Connections, m.left.Connections, now.Connections)
}

func shifted(before, left, now int64) int64 {
	if min(before, left, now) < 0 {
		return -1
	}
	return max(0, before+now-left)
}

// end must be called right after the window.
func (m *serverMeter) end(ctx context.Context) {
	if now := m.used(ctx); m.cpu >= 0 && now >= m.cpu {
		m.cpu = now - m.cpu
	} else {
		m.cpu = -1
	}
}

func (m *serverMeter) read(ctx context.Context) backend.Usage {
	if m.lists == 0 {
		return backend.UnknownUsage
	}
	u, _ := backend.ReadUsage(ctx, m.at, m.lists)
	return u
}

func (m *serverMeter) cost() *result.ServerCost {
	c := &result.ServerCost{
		Memory:      grown(m.before.Memory, m.peak.Memory),
		Connections: grown(m.before.Connections, m.peak.Connections),
	}
	if m.cpu >= 0 {
		c.CPU = &m.cpu
	}
	if *c == (result.ServerCost{}) {
		return nil
	}
	return c
}

func grown(before, after int64) *int64 {
	if before < 0 || after < before {
		return nil
	}
	d := after - before
	return &d
}
