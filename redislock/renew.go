package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lock"
)

// renew extends each of ls to a whole lease, by one concurrent batch per server. With afresh
// each uses a new connection, because an earlier renewal is silent; so does one that would
// wait for a pooled connection behind other requests.
func (c *Client) renew(ls []*Lease, afresh bool) {
	by := make(map[*redis.Client][]*Lease)
	for _, l := range ls {
		rdb := c.serverOf(l.renewal.keys[0])
		by[rdb] = append(by[rdb], l)
	}
	for rdb, ls := range by {
		c.work.Go(func() { c.renewAt(rdb, ls, afresh) })
	}
}

// confirm renews l, and waits for the answer for at most wait.
func (c *Client) confirm(l *Lease, wait time.Duration) {
	done := make(chan struct{})
	if !c.spawn(func() {
		defer close(done)
		c.renewAt(c.serverOf(l.renewal.keys[0]), []*Lease{l}, false)
	}) {
		return
	}
	select {
	case <-done:
	case <-time.After(wait):
	case <-l.Done():
	}
}

// renewAt renews the leases of one server, which is nil if unknown.
func (c *Client) renewAt(server *redis.Client, ls []*Lease, afresh bool) {
	ctx, cancel := context.WithTimeout(c.open, c.clock.Until(c.firstDeadline(ls)))
	defer cancel()
	calls := make([]call, len(ls))
	for i, l := range ls {
		calls[i] = l.renewal
	}
	send := func(rdb redis.UniversalClient) {
		sent := c.clock.Now()
		told, failed := c.renewed(ls, batch(ctx, rdb, calls), sent)
		for l, err := range failed {
			l.renewalFailed(err)
		}
		for _, l := range told {
			if j := l.whole.Load(); j != nil {
				j.renewed(l)
			} else {
				lock.Notify(l.trace.Renewed, lock.RenewedInfo{Name: l.name, Token: l.token, Until: c.clock.Local(l.until())})
			}
		}
	}
	if server != nil && (afresh || usedUp(server)) {
		c.afresh(server, send)
	} else {
		send(c.rdb)
	}
}

func usedUp(rdb *redis.Client) bool {
	pool := rdb.PoolStats()
	return pool.IdleConns == 0 && int(pool.TotalConns+pool.PendingRequests) >= rdb.Options().PoolSize
}

func (c *Client) firstDeadline(ls []*Lease) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.MinFunc(ls, func(a, b *Lease) int { return a.deadline.Compare(b.deadline) }).deadline
}

var errSilent = errors.New("redislock: the server has not answered a renewal")

// renewed records the answers to renew, and returns the leases that have a trace or joint to notify.
func (c *Client) renewed(ls []*Lease, replies []*redis.Cmd, sent time.Time) (told []*Lease, failed map[*Lease]error) {
	failed = make(map[*Lease]error)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, l := range ls {
		if !c.leases[l] {
			continue // released or over
		}
		n, err := replies[i].Int()
		traced := l.trace != nil || l.whole.Load() != nil
		if err != nil && traced && !sent.Before(l.toldUntil) {
			failed[l] = err
		}
		switch {
		case err != nil && (c.settled(err) || verdictOf(err) == foreign):
			l.end(fmt.Errorf("%w: its renewal was refused: %w", ErrLost, explain(err)))
			delete(c.leases, l)
			continue
		case err != nil:
			l.failed(sent, err)
		case n != 1:
			l.end(fmt.Errorf("%w: its key was gone or another holder's", ErrLost))
			delete(c.leases, l)
			continue
		default:
			if l.extend(sent) && traced {
				told = append(told, l)
			}
		}
		c.tickAt(l.due())
	}
	return told, failed
}

const (
	// askSilence is the wait after which a Lock asks on another connection, or the library's
	// read timeout if that is longer and requests ignore their context.
	askSilence = 2 * time.Second

	// maxAfresh bounds a client's concurrent requests on new connections.
	maxAfresh = 32
)

// giveBack frees the lock. Without an answer in unlockSilence the connections may be dead: it
// asks the same server on a new connection. The first answer to either counts, unless the client
// library has ended the first request with its context.
func (l *Lease) giveBack(ctx context.Context) (held bool, err error) {
	switch {
	case l.again == nil:
		return l.free(ctx)
	case l.c.prompt:
		short, cancel := context.WithTimeout(ctx, unlockSilence)
		defer cancel()
		held, err = l.free(short)
		if err != nil && short.Err() != nil && ctx.Err() == nil {
			l.c.again(ctx, l.name, func(ctx context.Context) { held, err = l.again(ctx) })
		}
		return held, err
	}
	return l.giveBackTwice(ctx)
}

func (l *Lease) giveBackTwice(ctx context.Context) (held bool, err error) {
	type answer struct {
		held bool
		err  error
	}
	answers := make(chan answer, 2)
	if !l.c.spawn(func() {
		held, err := l.free(ctx)
		answers <- answer{held, err}
	}) {
		return false, ErrClosed
	}
	select {
	case a := <-answers:
		return a.held, a.err
	case <-time.After(unlockSilence):
	}
	two := ctx.Err() == nil && l.c.spawn(func() {
		a := answer{false, fmt.Errorf("no answer for %v", unlockSilence)}
		l.c.again(ctx, l.name, func(ctx context.Context) { a.held, a.err = l.again(ctx) })
		answers <- a
	})
	a := <-answers
	if a.err != nil && !refused(a.err) && two && ctx.Err() == nil {
		a = <-answers
	}
	return a.held, a.err
}

// again calls send with a context that sends requests to the server of the lock called name on
// a new connection, unless that is unknown or too many such requests are running.
func (c *Client) again(ctx context.Context, name string, send func(context.Context)) {
	rdb := c.serverOf(name)
	defer c.fresh.Add(-1)
	if c.fresh.Add(1) <= maxAfresh && rdb != nil {
		c.afresh(rdb, func(fresh redis.UniversalClient) { send(by(ctx, fresh)) })
	}
}

// ask sends a request for a lock. Without an answer for a while it abandons the request and
// repeats it on a new connection; the script must recognize that. Unless abandoned, the first
// could take the lock again after the lock of the second was released.
func (c *Client) ask(ctx context.Context, request call) *redis.Cmd {
	short, cancel := context.WithTimeout(ctx, askSilence)
	defer cancel()
	reply := request.run(short, c.rdb)
	err := reply.Err()
	if err == nil || refused(err) || short.Err() == nil || ctx.Err() != nil {
		return reply
	}
	c.again(ctx, request.keys[0], func(ctx context.Context) { reply = request.run(ctx, c.rdb) })
	return reply
}

// serverOf returns the client for the server that has key, nil if unknown.
func (c *Client) serverOf(key string) *redis.Client {
	var rdb *redis.Client
	var err error
	switch all := c.rdb.(type) {
	case *redis.Client:
		return all
	case *redis.ClusterClient:
		rdb, err = all.MasterForKey(c.open, key)
	case *redis.Ring:
		rdb, err = all.GetShardClientForKey(key)
	}
	if err != nil {
		return nil
	}
	return rdb
}

// afresh calls f with a client for the server of rdb without connections, closed afterwards.
func (c *Client) afresh(rdb *redis.Client, f func(redis.UniversalClient)) {
	o := *rdb.Options()
	o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxRetries = 1, 0, 0, -1
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = quietMaintenance()
	fresh := redis.NewClient(&o)
	defer fresh.Close()
	defer context.AfterFunc(c.open, func() { fresh.Close() })()
	f(fresh)
}

type serverKey struct{}

// by returns a context for a repeated request to rdb, which may have been sent before.
func by(ctx context.Context, rdb redis.UniversalClient) context.Context {
	return context.WithValue(ctx, serverKey{}, rdb)
}

func resent(ctx context.Context) redis.UniversalClient {
	rdb, _ := ctx.Value(serverKey{}).(redis.UniversalClient)
	return rdb
}
