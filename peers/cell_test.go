package peers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/peers"
	zklab "locklab/zklock/lab"
)

// variant returns the ZooKeeper lock of that name, nil if there is none.
func variant(name string) *harness.Variant {
	all := slices.Concat(peers.Suite, zklab.Suite)
	if i := slices.IndexFunc(all, func(v *harness.Variant) bool { return v.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// newKey returns a name that no other lock has.
func newKey() string { return "peers-test-" + rand.Text() }

// loop is the closed loop of a cell in this process: what MeasureCurator does
// in Java.
func (c cell) loop(ctx context.Context, v *harness.Variant, at harness.Endpoint, key string, base time.Time, edge func()) (*peers.CellLog, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+*pairWindow)
	defer cancel()
	all := gather
	if c.shared {
		all = gatherShared
	}
	g, err := all(ctx, at, key, slices.Repeat([]*harness.Variant{v}, c.workers))
	defer g.close()
	if err != nil {
		return nil, err
	}
	var stop atomic.Bool
	done := make(chan error, 1)
	go func() { done <- g.turns(ctx, base, c.hold, func(int) bool { return !stop.Load() }) }()
	log := new(peers.CellLog)
	time.Sleep(cellWarmup)
	log.Open = int64(time.Since(base))
	edge()
	time.Sleep(time.Duration(log.Open) + *pairWindow - time.Since(base))
	log.Close = int64(time.Since(base))
	edge()
	stop.Store(true)
	if err := <-done; err != nil {
		return nil, err
	}
	log.Holds = slices.Concat(g.holds...)
	oracle.Sort(log.Holds)
	return log, nil
}

// A gathering is workers that contend for one lock, each with its own client.
type gathering struct {
	clients  []harness.Remote
	sessions []harness.Session
	holds    [][]oracle.Hold                                  // by worker
	reads    func(worker, turn int) bool                      // nil if none reads
	inside   func(i int, read bool) (leave func(), err error) // called by holders; nil is fine
}

// gather connects a worker for each of vs to the lock called key.
func gather(ctx context.Context, at harness.Endpoint, key string, vs []*harness.Variant) (*gathering, error) {
	g := &gathering{clients: make([]harness.Remote, len(vs)), sessions: make([]harness.Session, len(vs)), holds: make([][]oracle.Hold, len(vs))}
	var group errgroup.Group
	for i, v := range vs {
		group.Go(func() (err error) {
			if g.clients[i], err = v.Remote(ctx, at, key); err == nil {
				g.sessions[i], err = g.clients[i].Join(ctx, i)
			}
			return err
		})
	}
	return g, group.Wait()
}

// gatherShared is gather of workers of the first of vs, which share its client.
func gatherShared(ctx context.Context, at harness.Endpoint, key string, vs []*harness.Variant) (*gathering, error) {
	g := &gathering{clients: make([]harness.Remote, 1), sessions: make([]harness.Session, len(vs)), holds: make([][]oracle.Hold, len(vs))}
	var err error
	if g.clients[0], err = vs[0].Remote(ctx, at, key); err != nil {
		return g, err
	}
	for i := range g.sessions {
		if g.sessions[i], err = g.clients[0].Join(ctx, i); err != nil {
			return g, err
		}
	}
	return g, nil
}

// close ends all sessions and clients, together: each takes a while.
func (g *gathering) close() error {
	var group errgroup.Group
	for i, s := range g.sessions {
		group.Go(func() error {
			var errs []error
			if s != nil {
				errs = append(errs, s.Close())
			}
			if len(g.clients) > 1 && g.clients[i] != nil {
				errs = append(errs, g.clients[i].Close())
			}
			return errors.Join(errs...)
		})
	}
	err := group.Wait()
	if len(g.clients) == 1 && g.clients[0] != nil {
		err = errors.Join(err, g.clients[0].Close())
	}
	return err
}

// turns lets every worker take the lock as long as more says of the number of
// its next turn, and keeps what it saw of the turns of writers.
func (g *gathering) turns(ctx context.Context, base time.Time, hold time.Duration, more func(turn int) bool) error {
	var group errgroup.Group
	for i := range g.sessions {
		group.Go(func() error {
			for n := 0; more(n); n++ {
				if err := g.turn(ctx, base, hold, i, n); err != nil {
					return fmt.Errorf("worker %d: %w", i, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (g *gathering) turn(ctx context.Context, base time.Time, hold time.Duration, i, n int) error {
	read := g.reads != nil && g.reads(i, n)
	lock := g.sessions[i].Lock
	if read {
		lock = g.sessions[i].(harness.RWSession).RLock
	}
	h := oracle.Hold{Worker: i, Requested: int64(time.Since(base))}
	lease, err := lock(ctx)
	if err != nil {
		return err
	}
	h.Acquired = int64(time.Since(base))
	leave := func() {}
	if g.inside != nil {
		leave, err = g.inside(i, read)
	}
	if hold > 0 {
		time.Sleep(hold)
	}
	leave()
	h.Releasing = int64(time.Since(base))
	if !read {
		g.holds[i] = append(g.holds[i], h)
	}
	return errors.Join(err, lease.Unlock(ctx))
}

// served asks all servers of an ensemble how many packets they have received
// and sent unasked since they started.
func served(ctx context.Context, at harness.Endpoint) (total harness.Counts, err error) {
	counts := make([]harness.Counts, len(at.Addrs[0]))
	errs := make([]error, len(counts))
	var wg sync.WaitGroup
	for i, addr := range at.Addrs[0] {
		wg.Go(func() { counts[i], errs[i] = servedBy(ctx, addr) })
	}
	wg.Wait()
	for _, c := range counts {
		total = total.Add(c)
	}
	return total, errors.Join(errs...)
}

func servedBy(ctx context.Context, addr string) (harness.Counts, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return harness.Counts{}, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "mntr"); err != nil {
		return harness.Counts{}, err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return harness.Counts{}, err
	}
	values := make(map[string]uint64)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			values[name], _ = strconv.ParseUint(value, 10, 64) // some are no numbers
		}
	}
	received, sent := values["zk_packets_received"], values["zk_packets_sent"]
	if received == 0 {
		return harness.Counts{}, fmt.Errorf("%s does not answer mntr: it counts for the benchmark, allow it by 4lw.commands.whitelist", addr)
	}
	return harness.Counts{Requests: received, Notifications: sent - received}, nil
}
