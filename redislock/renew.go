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
				lock.Tell(l.trace.Renewed, lock.RenewedInfo{Name: l.name, Token: l.token, Until: c.clock.Local(l.until())})
			}
		}
	}
	if server != nil && (afresh || usedUp(server)) {
		c.afresh(server, send)
	} else {
		send(c.rdb)
	}
}

// usedUp reports whether all connections that rdb may have are in use or dialled.
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
		case err != nil && (c.settled(err) || judge(err) == foreign):
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
