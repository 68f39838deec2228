package zklock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/internal/lease"
)

// revokeMark is what Curator's Revoker writes into a ticket.
var revokeMark = []byte("__REVOKE__")

// Participants returns the paths of the tickets at m in order: the holder's,
// then those of the waiters. It is out of date when it returns; what it is good
// for is [Client.Revoke] and people.
func (m *Reentrant) Participants(ctx context.Context) ([]string, error) {
	if err := checkPath(m.path); err != nil {
		return nil, err
	}
	return lease.Await(orBackground(ctx), m.c.spawn, ErrClosed, func() ([]string, error) {
		names, _, err := m.c.conn.Children(m.path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("zklock: list %s: %w", m.path, err)
		}
		var paths []string
		for _, p := range places(names, fairQueue.kind) {
			paths = append(paths, m.path+"/"+p.name)
		}
		return paths, nil
	}, func([]string) {})
}

// ErrNotRevocable is returned by Revoke for the ticket of a [Mutex] or a [Multi],
// whose holder does not listen, and to which nothing may be written.
var ErrNotRevocable = errors.New("zklock: the lock of a Mutex or Multi cannot be asked for")

// Revoke asks the owner of the ticket at path, see [Reentrant.Participants], to
// give the lock back. It is a wish, which only holders with an OnRevoke hear,
// and those of Curator that are Revocable. It returns nil too if the ticket is
// gone already, and else when the wish is written, not when it is fulfilled. The
// error is ErrNotRevocable for a ticket that only its own client can write to,
// whichever client asks.
//
// It needs the right to read and to write to nodes of other clients.
func (c *Client) Revoke(ctx context.Context, path string) error {
	if err := checkTicket(path); err != nil {
		return err
	}
	_, err := lease.Await(orBackground(ctx), c.spawn, ErrClosed, func() (struct{}, error) {
		if err := c.revoke(path); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return struct{}{}, fmt.Errorf("zklock: revoke %s: %w", path, explained(err))
		}
		return struct{}{}, nil
	}, func(struct{}) {})
	return err
}

// revoke writes to the ticket at path unless it is sealed. A write to one that
// this client itself has sealed would be taken for its release. A ticket has its
// marker from the start and for good, and a name with a part of its own is never used
// again, so what the read shows still holds when the write is done. A plain name may be
// that of a sealed ticket by then.
func (c *Client) revoke(path string) error {
	data, _, err := c.conn.Get(path)
	if errors.Is(err, zk.ErrNoNode) { // or not here yet
		if _, err := c.conn.Sync(path); err != nil {
			return err
		}
		data, _, err = c.conn.Get(path)
	}
	if err != nil {
		return err
	}
	if sealedData(data) || isPlain(path[strings.LastIndexByte(path, '/')+1:], fairQueue.kind) {
		return ErrNotRevocable
	}
	_, err = c.conn.Set(path, revokeMark, -1)
	return err
}

// awaitRevoke calls f each time that the lock is asked back, as long
// as n holds it.
func (n *possession) awaitRevoke(f func(*Owner)) {
	c := n.outer.c
	var again pause
	for n.outer.Err() == nil {
		data, _, wake, err := c.conn.GetW(n.node)
		if err != nil {
			if !transient(err) || again.wait(n.outer.alive, c) != nil {
				return // released, or not ours to read
			}
			continue
		}
		again = pause{}
		if bytes.Equal(data, revokeMark) {
			f(n.owner)
		}
		select {
		case ev := <-wake:
			if ev.Type == zk.EventNodeDeleted {
				return
			}
		case <-n.outer.Done():
			return
		}
	}
}
