package zklock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/lock"
)

var revokeMark = []byte("__REVOKE__")

// Participants returns the paths of the tickets at m in order: the holder's, then the waiters'.
// It is out of date when it returns; it is for [Client.Revoke] and people.
func (m *Reentrant) Participants(ctx context.Context) ([]string, error) {
	if err := checkPath(m.path); err != nil {
		return nil, err
	}
	return lock.Await(lock.Given(ctx), m.c.spawn, ErrClosed, func() ([]string, error) {
		names, _, err := m.c.conn.Children(m.path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("zklock: list %s: %w", m.path, err)
		}
		var paths []string
		for _, p := range places(names, fairQueue.kind) {
			paths = append(paths, m.path+"/"+p.Name)
		}
		return paths, nil
	}, func([]string) {})
}

// ErrNotRevocable is returned by Revoke for a [Mutex] or a [Multi], whose tickets are sealed.
var ErrNotRevocable = errors.New("zklock: the lock of a Mutex or Multi cannot be asked for")

// Revoke asks the owner of the ticket at path, see [Reentrant.Participants], to give the lock
// back, if it has an OnRevoke or is Curator's Revocable. It returns nil when the request is
// written, or the ticket is gone, and ErrNotRevocable for a ticket that only its client can
// write to. It needs the right to read and write nodes of other clients.
func (c *Client) Revoke(ctx context.Context, path string) error {
	if err := checkTicket(path); err != nil {
		return err
	}
	_, err := lock.Await(lock.Given(ctx), c.spawn, ErrClosed, func() (struct{}, error) {
		if err := c.revoke(path); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return struct{}{}, fmt.Errorf("zklock: revoke %s: %w", path, explained(err))
		}
		return struct{}{}, nil
	}, func(struct{}) {})
	return err
}

// revoke writes to the ticket at path unless it is sealed: a write to one that this client has
// sealed would be its release. A marker is permanent and a unique name never reused, so the
// read still holds for the write; a plain name may be a sealed ticket's by then.
func (c *Client) revoke(path string) error {
	data, _, err := c.conn.Get(path)
	if errors.Is(err, zk.ErrNoNode) { // or not on this server yet
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

// awaitRevoke calls f for each request to give the lock back while n holds it.
func (n *possession) awaitRevoke(f func(*Owner)) {
	c := n.outer.q.c
	var again pause
	for n.outer.Err() == nil {
		data, _, wake, err := c.conn.GetW(n.node)
		if err != nil {
			if !transient(err) || again.wait(n.outer.alive, c) != nil {
				return // released, or not readable
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
