package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
	"locklab/internal/stat"
)

// The plays of each step: the first open connections, load scripts and adapt. There are more
// if plays differ.
const (
	warm     = 2
	plays    = 5
	mostly   = 4 // this many of them must agree
	most     = 15
	contends = 3 // clients: one holds the lock and the others wait
)

// patience limits a dry run. After settling, a step with more than asking requests polls.
const (
	tripPatience = 20 * time.Second
	settling     = 150 * time.Millisecond
	slow         = 2 * time.Second
	asking       = 10
)

// CountTrips plays v through with the servers at, under the name key, and returns its network
// use. The error wraps harness.ErrUnavailable if the messages cannot be read.
func CountTrips(ctx context.Context, v *harness.Variant, at harness.Endpoint, key string) (trips *result.Trips, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tripPatience, fmt.Errorf("measure: %s was not granted within %v", v.Name, tripPatience))
	defer cancel()
	switch {
	case at.TLS != nil:
		return nil, fmt.Errorf("measure: %w: what is sent over TLS cannot be read", harness.ErrUnavailable)
	case at.Kind != harness.KindRedis && at.Kind != harness.KindZooKeeper:
		return nil, fmt.Errorf("measure: %w: messages to a server of kind %q cannot be read", harness.ErrUnavailable, at.Kind)
	}
	r := &dryRun{Clients: Clients{Lock: v, At: at, Key: key}, journal: &tripJournal{open: make(map[callID]pending), silence: leastSilence}}
	defer func() {
		err = errors.Join(err, r.Close())
		if err != nil {
			trips = nil
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
		}
	}()
	trips = new(result.Trips)
	if err := r.alone(ctx, trips); err != nil {
		return nil, err
	}
	if v.Traits.Permits > 1 {
		return trips, nil
	}
	trips.Behind, err = r.behind(ctx)
	return trips, err
}

type dryRun struct {
	Clients
	journal  *tripJournal
	sessions []harness.Session
}

func (r *dryRun) join(ctx context.Context) error {
	i := len(r.sessions)
	s, err := r.Join(ctx, i, func(server int, s faultproxy.Sighting) { r.journal.see(i, server, s) })
	r.sessions = append(r.sessions, s)
	return err
}

func (r *dryRun) settle(ctx context.Context) (asks bool, err error) {
	first := r.journal.now()
	for began := time.Now(); time.Since(began) < slow; {
		if !sleep(ctx, time.Millisecond) {
			return false, ctx.Err()
		}
		if r.journal.calm(time.Now()) {
			return false, nil
		}
		if time.Since(began) > settling && requests(r.journal.between(first, r.journal.now())) > asking {
			return true, nil
		}
	}
	return false, nil
}

type legs struct{ halves, requests []float64 }

func (l *legs) add(s stamp, requests float64) {
	l.halves, l.requests = append(l.halves, float64(s.halves)), append(l.requests, requests)
}

func (l *legs) enough() bool {
	n, same := len(l.halves), 0
	for _, h := range l.halves {
		if h == stat.Median(l.halves) {
			same++
		}
	}
	return n >= most || n >= plays && mostly*n <= plays*same
}

func (l *legs) leg() result.Leg {
	if len(l.halves) == 0 {
		return result.Leg{}
	}
	return result.Leg{Halves: int(stat.Median(l.halves)), Requests: stat.Median(l.requests)}
}

// least returns the least halves: on a busy machine a reply may come before an independent
// request leaves, as if it had caused it.
func (l *legs) least() result.Leg {
	return result.Leg{Halves: int(slices.Min(l.halves)), Requests: stat.Median(l.requests)}
}

func (r *dryRun) alone(ctx context.Context, t *result.Trips) error {
	if err := r.join(ctx); err != nil {
		return err
	}
	var lock, unlock legs
	for n := 0; n < warm || !lock.enough() || !unlock.enough(); n++ {
		asks := r.journal.now()
		lease, err := r.sessions[0].Lock(ctx)
		if err != nil {
			return err
		}
		has := r.journal.now()
		_, err = r.settle(ctx)
		releases := r.journal.now()
		if err := errors.Join(err, lease.Unlock(ctx)); err != nil {
			return err
		}
		free := r.journal.now()
		if _, err := r.settle(ctx); err != nil {
			return err
		}
		if n < warm {
			continue
		}
		end := r.journal.now()
		lock.add(reckon(r.journal.between(asks, has), 0).known[0], requests(r.journal.between(asks, releases)))
		unlock.add(reckon(r.journal.between(releases, free), 0).known[0], requests(r.journal.between(releases, end)))
	}
	r.journal.adaptSilence()
	t.Lock, t.Unlock = lock.least(), unlock.least()
	return nil
}

// Clients are the clients of one lock that a dry run or a trace observes.
type Clients struct {
	Lock *harness.Variant
	At   harness.Endpoint // of the servers, without TLS
	Key  string           // names the lock there

	exits []func() error // in the order of arrival
}

// Join returns the session of a new client. If observe is not nil, the client's messages pass
// proxies, which report each with the index of its server.
func (c *Clients) Join(ctx context.Context, worker int, observe func(server int, s faultproxy.Sighting)) (harness.Session, error) {
	at, framing := c.At, faultproxy.Redis
	if at.Kind == harness.KindZooKeeper {
		framing = faultproxy.ZooKeeper
	}
	if observe != nil {
		row, err := faultproxy.NewRow(at.Addrs, framing, func(server int) faultproxy.Options {
			return faultproxy.Options{Observe: func(s faultproxy.Sighting) { observe(server, s) }}
		})
		if err != nil {
			return nil, err
		}
		c.exits = append(c.exits, row.Close)
		at.Addrs = row.Addrs
	}
	remote, err := c.Lock.Remote(ctx, at, c.Key)
	if err != nil {
		return nil, err
	}
	c.exits = append(c.exits, remote.Close)
	s, err := remote.Join(ctx, worker)
	if err == nil {
		c.exits = append(c.exits, s.Close)
	}
	return s, err
}

// Close ends the clients, the latest first.
func (c *Clients) Close() (err error) {
	for _, exit := range slices.Backward(c.exits) {
		err = errors.Join(err, exit())
	}
	return err
}

type grant struct {
	client, at int // and the number of events before it
	lease      harness.Lease
	err        error
}

// The contenders are the clients of a dry run: one holds the lock and the others wait.
type contenders struct {
	*dryRun
	granted chan grant
	waiting int
	holder  grant

	queue, handover, unlock legs
	sent                    []float64 // messages from one release to the next
	polls                   int       // turns in which a waiter asked on its own
	turns                   int
}

func (c *contenders) ask(ctx, wait context.Context, client int) (again bool, err error) {
	c.waiting++
	go func() {
		lease, err := c.sessions[client].Lock(wait)
		c.granted <- grant{client, c.journal.now(), lease, err}
	}()
	return c.settle(ctx)
}

func (c *contenders) next(ctx context.Context) error {
	select {
	case c.holder = <-c.granted:
		c.waiting--
		return c.holder.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *dryRun) behind(ctx context.Context) (_ *result.TripsBehind, err error) {
	wait, giveUp := context.WithCancel(ctx)
	c := &contenders{dryRun: r, granted: make(chan grant, contends)}
	defer func() { err = errors.Join(err, c.disperse(ctx, giveUp)) }()
	for len(r.sessions) < contends {
		if err := r.join(ctx); err != nil {
			return nil, err
		}
	}
	for client := range r.sessions {
		if _, err := c.ask(ctx, wait, client); err != nil {
			return nil, err
		}
		if client == 0 {
			if err := c.next(ctx); err != nil {
				return nil, err
			}
		}
	}
	for !c.known() {
		if err := c.turn(ctx, wait); err != nil {
			return nil, err
		}
	}
	b := &result.TripsBehind{Polls: 2*c.polls > c.turns}
	if !b.Polls {
		all := legs{c.sent, c.sent}
		b.Queue, b.Handover, b.Unlock, b.Requests = c.queue.leg(), c.handover.leg(), c.unlock.leg(), all.leg().Requests
	}
	return b, nil
}

// known reports whether enough turns were played: few if a waiter always asked on its own.
func (c *contenders) known() bool {
	switch {
	case c.turns < warm:
		return false
	case c.polls == c.turns:
		return c.turns > warm
	}
	return c.queue.enough() && c.handover.enough() && c.unlock.enough() || c.turns == warm+most
}

func (c *contenders) turn(ctx, wait context.Context) error {
	last := c.holder
	releases := c.journal.now()
	err := last.lease.Unlock(ctx)
	free := c.journal.now()
	c.holder = grant{}
	if err := errors.Join(err, c.next(ctx)); err != nil {
		return err
	}
	passes, err := c.settle(ctx)
	if err != nil {
		return err
	}
	asks := c.journal.now()
	again, err := c.ask(ctx, wait, last.client)
	if err != nil {
		return err
	}
	end := c.journal.now()
	hand := reckon(c.journal.between(releases, c.holder.at), last.client).known[c.holder.client]
	c.turns++
	if passes || again || !hand.caused {
		c.polls++
		return nil
	}
	if c.turns <= warm {
		return nil
	}
	own := reckon(c.journal.between(asks, end), last.client)
	c.queue.add(own.known[last.client].later(own.sent[last.client]), requests(c.journal.between(asks, end)))
	c.handover.add(hand, requests(c.journal.between(releases, c.holder.at)))
	c.unlock.add(reckon(c.journal.between(releases, free), last.client).known[last.client], 0)
	c.sent = append(c.sent, requests(c.journal.between(releases, end)))
	return nil
}

func (c *contenders) disperse(ctx context.Context, giveUp func()) (err error) {
	giveUp()
	if c.holder.lease != nil {
		err = c.holder.lease.Unlock(ctx)
	}
	for range c.waiting {
		if g := <-c.granted; g.err == nil { // the grant came first
			err = errors.Join(err, g.lease.Unlock(ctx))
		}
	}
	return err
}
