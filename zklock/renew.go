package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ErrExhausted is returned by Lock if the ticket numbers are nearly used up and the node of the
// lock cannot be recreated, which would restart them at 0. Delete that node while no client
// holds the lock or waits for it. See docs/decisions/0017-zk-numbers.md.
var ErrExhausted = errors.New("zklock: the numbers of tickets are used up: delete the node of the lock while nobody holds it or waits for it")

// A server numbers sequential children up to 2^31-1, and then repeats that, or negative ones.
const (
	renewFrom  = 1 << 30       // a release with a number from here on may recreate the node
	renewEvery = 1 << 10       // if it is a multiple of this
	refuseFrom = 1<<31 - 1<<24 // a ticket from here on never holds the lock
	mostRenews = 3             // in one Lock
	noHash     = ":x"          // suffix of an identity that servers hide
)

var overtaken = []error{zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrNoNode, zk.ErrNodeExists}

func (t *ticket) exhausted() error {
	if n, _ := number(t.node, t.p.kind); n < 0 || n >= refuseFrom {
		return fmt.Errorf("%w: number %d at %s", ErrExhausted, n, t.q.path)
	}
	return nil
}

// renew recreates the node of the lock once it has no tickets; with try it does not wait.
func (q *queue) renew(ctx context.Context, try bool) error {
	var again pause
	for {
		err := q.remake()
		switch {
		case err == nil:
			return nil
		case try && errors.Is(err, zk.ErrNotEmpty):
			return fmt.Errorf("%w: %w: lock %s", ErrNotAcquired, ErrExhausted, q.path)
		case !transient(err) && !slices.ContainsFunc(overtaken, func(one error) bool { return errors.Is(err, one) }):
			return fmt.Errorf("%w: lock %s: %w", ErrExhausted, q.path, err)
		}
		if ended := again.wait(ctx, q.c); ended != nil {
			return fmt.Errorf("%w: lock %s: %w: %w", ErrExhausted, q.path, err, ended)
		}
	}
}

// remake recreates the node of the lock, with its data and ACL, in one transaction that fails
// with zk.ErrNotEmpty if there is a ticket. It returns nil if that is no longer necessary.
func (q *queue) remake() error {
	conn := q.c.conn
	data, stat, err := conn.Get(q.path)
	switch {
	case errors.Is(err, zk.ErrNoNode) || err == nil && issued(stat) < renewFrom:
		return nil
	case err != nil:
		return err
	case stat.NumChildren > 0:
		return q.onlyTickets()
	case stat.EphemeralOwner != 0: // a container, which servers also remove
		return conn.Delete(q.path, stat.Version)
	}
	acl, _, err := conn.GetACL(q.path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "digest" && strings.HasSuffix(a.ID, noHash) }) {
		return fmt.Errorf("the ACL of %s is hidden from this client", q.path)
	}
	_, err = conn.Multi(
		&zk.DeleteRequest{Path: q.path, Version: stat.Version},
		&zk.CreateRequest{Path: q.path, Data: data, Acl: acl},
	)
	return err
}

// issued returns the number of sequential nodes made below the node, at most 2^31-1.
func issued(stat *zk.Stat) uint32 { return uint32(stat.Cversion+stat.NumChildren) / 2 }

// onlyTickets returns zk.ErrNotEmpty if all children of the node are temporary tickets.
func (q *queue) onlyTickets() error {
	names, _, err := q.c.conn.Children(q.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for _, name := range names {
		if !isTicket(name) {
			return fmt.Errorf("%s has a child that is no ticket: %s", q.path, quoted(name))
		}
	}
	return zk.ErrNotEmpty
}

// renewAfter recreates the free node after every renewEvery-th ticket from renewFrom on.
func (q *queue) renewAfter(n int32) {
	if n >= renewFrom && n%renewEvery == 0 {
		q.c.spawn(func() { q.remake() }) // else after another one
	}
}
