package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// curatorLoop returns the Loop of a lock that recipe makes. The servers count its requests,
// with pings, the readings (less than 1 %), and other clients of a user's server.
func curatorLoop(recipe curatorRecipe) harness.Loop {
	return func(ctx context.Context, at harness.Endpoint, key string, w harness.Workload) (*harness.LoopLog, error) {
		c, err := newCuratorCell(recipe, w)
		if err != nil {
			return nil, err
		}
		m := &meter{at: at, began: time.Now()}
		log, err := measureCurator(ctx, curatorJava, at, key, c, m.began, func() { m.read(ctx) })
		if err != nil {
			return nil, err
		}
		log.Wire = m.within(log)
		return log, nil
	}
}

// newCuratorCell returns w as a cell, or an error that wraps [harness.ErrUsage] if it cannot.
func newCuratorCell(recipe curatorRecipe, w harness.Workload) (CuratorCell, error) {
	c := CuratorCell{Recipe: recipe.name, Workers: w.Workers, Warmup: w.Warmup, Window: w.Window, Hold: w.Hold.Mean, Think: w.Think.Mean}
	no := func(what string) (CuratorCell, error) {
		return c, fmt.Errorf("peers: %w: Curator's process has no %s", harness.ErrUsage, what)
	}
	switch clients := cmp.Or(w.Clients, w.Workers); {
	case w.Reads > 0:
		return no("mix of readers and writers")
	case w.Hold.Exp || w.Think.Exp:
		return no("exponential times")
	case w.Hold.Mix != "" || w.Think.Mix != "":
		return no("times that are a mixture")
	case w.Section != harness.SectionWork:
		return no("data behind the lock")
	case w.Pin != harness.PinNone || w.GOMAXPROCS != 0:
		return no("workers bound to processors")
	case clients == w.Workers:
		c.Mode = "session"
	case clients > 1:
		return no("several sessions that share the workers")
	case recipe.instance:
		c.Mode = "instance"
	default:
		c.Mode = "object"
	}
	return c, nil
}

type meter struct {
	at    harness.Endpoint
	began time.Time
	times []int64 // of the readings, ns since began
	seen  []harness.Counts
	err   error
}

func (m *meter) read(ctx context.Context) {
	before := time.Since(m.began)
	n, err := served(ctx, m.at)
	m.times = append(m.times, int64(before+time.Since(m.began))/2)
	m.seen, m.err = append(m.seen, n), cmp.Or(m.err, err)
}

// within returns the servers' counts in the window of log, nil if unknown. They are read a
// little late, so they are scaled by the acquisitions in between.
func (m *meter) within(log *harness.LoopLog) *harness.Counts {
	if m.err != nil || len(m.seen) != 2 {
		return nil
	}
	read, window := acquired(log, m.times[0], m.times[1]), acquired(log, log.Open, log.Close)
	if read == 0 {
		return nil
	}
	d := m.seen[1].Sub(m.seen[0])
	scale := func(n uint64) uint64 { return uint64(float64(n)*float64(window)/float64(read) + 0.5) }
	return &harness.Counts{Requests: scale(d.Requests), Notifications: scale(d.Notifications)}
}

func acquired(log *harness.LoopLog, from, to int64) (n int) {
	for _, h := range log.Acquisitions {
		if h.Acquired >= from && h.Acquired < to {
			n++
		}
	}
	return n
}

// served returns the packets that all servers have received, and sent as notifications.
func served(ctx context.Context, at harness.Endpoint) (total harness.Counts, err error) {
	counts := make([]harness.Counts, len(at.Addrs[0]))
	errs := make([]error, len(counts))
	var wg sync.WaitGroup
	for i, addr := range at.Addrs[0] {
		wg.Go(func() { counts[i], errs[i] = servedBy(ctx, at, addr) })
	}
	wg.Wait()
	for _, c := range counts {
		total = total.Add(c)
	}
	return total, errors.Join(errs...)
}

const servedPatience = 10 * time.Second

func servedBy(ctx context.Context, at harness.Endpoint, addr string) (harness.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, servedPatience)
	defer cancel()
	text, err := backend.FourLetters(ctx, at, addr, "mntr")
	if err != nil {
		return harness.Counts{}, err
	}
	values := make(map[string]uint64)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			values[name], _ = strconv.ParseUint(value, 10, 64) // some are not numbers
		}
	}
	received, sent := values["zk_packets_received"], values["zk_packets_sent"]
	if received == 0 {
		return harness.Counts{}, fmt.Errorf("peers: %s does not answer mntr: 4lw.commands.whitelist allows it", addr)
	}
	return harness.Counts{Requests: received, Notifications: max(sent, received) - received}, nil
}
