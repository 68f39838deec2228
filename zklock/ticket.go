package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// A ticket is one place in the queue: an ephemeral sequential node below the
// path of the lock, or the will to have one.
type ticket struct {
	m       *Mutex
	unique  string // start of the node's name, which nobody else uses
	node    string // the node's name, "" while there is none that we know of
	session int    // the client's session that owns the node
	doubt   bool   // a create was not answered: there may be a node without our knowing
}

func newTicket(m *Mutex) *ticket {
	return &ticket{m: m, unique: newUnique()}
}

// newUnique returns the start of a ticket's name, after the example of
// Curator's protected nodes (CreateBuilder.withProtection).
func newUnique() string {
	var guid [16]byte
	rand.Read(guid[:]) // never fails
	return fmt.Sprintf("_c_%x-lock-", guid)
}

// sequence returns the number that the server put behind a ticket's name, and
// false for names that are not tickets: of this package, of Curator's
// InterProcessMutex or of zk.Lock.
func sequence(name string) (int32, bool) {
	i := strings.LastIndex(name, "lock-")
	if i < 0 || i > 0 && name[i-1] != '-' {
		return 0, false
	}
	digits := name[i+len("lock-"):]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || digits[0] == '+' || n == 0 && digits[0] == '-' {
		return 0, false
	}
	width := 10 // the server's %010d, which counts the sign
	if n <= -1_000_000_000 {
		width = 11
	}
	return int32(n), len(digits) == width
}

// before reports whether number a was given out before b. The server counts in
// 32 bits and goes on at the smallest number after the greatest; any two
// tickets of one queue are less than half the circle apart.
func before(a, b int32) bool { return a-b < 0 }

// path returns where the ticket's node is.
func (t *ticket) path() string { return t.m.path + "/" + t.node }

// lock takes a place in the queue and waits at it for the lock, or, if try is
// set, leaves at once unless it is the first. It returns without a place
// unless it returns a lease.
func (t *ticket) lock(ctx context.Context, try bool) (*Lease, error) {
	var again pause
	for {
		l, err := t.attempt(ctx, try)
		if err == nil {
			return l, nil
		}
		if transient(err) {
			err = again.wait(ctx, t.m.c)
			if err == nil {
				continue
			}
		}
		_, lost := t.withdraw()
		if lost != nil && !errors.Is(lost, ErrClosed) {
			err = fmt.Errorf("%w (and its ticket stays until the session ends: %w)", err, lost)
		}
		return nil, err
	}
}

// attempt is lock up to the first failure of a request. Called again, it goes
// on where it was.
func (t *ticket) attempt(ctx context.Context, try bool) (*Lease, error) {
	for {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case t.m.c.open.Err() != nil:
			return nil, ErrClosed
		}
		if err := t.enter(); err != nil {
			return nil, err
		}
		v, err := t.m.look(t)
		if err != nil {
			return nil, err
		}
		switch {
		case v.gone:
			*t = *newTicket(t.m)
			continue
		case v.head:
			if l := t.m.c.grant(t, v.token); l != nil {
				return l, nil
			}
			return nil, errOutdated
		case try:
			return nil, ErrNotAcquired
		}
		select {
		case <-v.wake:
		case <-ctx.Done():
		case <-t.m.c.open.Done():
		}
	}
}

// enter makes sure that the ticket has a node.
func (t *ticket) enter() error {
	c := t.m.c
	if t.doubt {
		if err := t.find(); err != nil {
			return err
		}
	}
	if t.node != "" && t.session != c.sessions() {
		*t = *newTicket(t.m) // the node went with its session
	}
	if t.node != "" {
		return nil
	}
	path, err := c.conn.Create(t.m.path+"/"+t.unique, nil, zk.FlagEphemeralSequential, c.acl)
	for tries := 0; errors.Is(err, zk.ErrNoNode) && tries < 10; tries++ {
		// Others may remove an empty parent between the two requests.
		if err := t.m.makeParents(); err != nil {
			return err
		}
		path, err = c.conn.Create(t.m.path+"/"+t.unique, nil, zk.FlagEphemeralSequential, c.acl)
	}
	if err != nil {
		t.doubt = transient(err)
		return fmt.Errorf("zklock: queue at %s: %w", t.m.path, err)
	}
	// Read after the reply: the node belongs to this session or to one that
	// is over, and then the next look does not show it.
	t.session = c.sessions()
	t.node = path[strings.LastIndexByte(path, '/')+1:]
	return nil
}

// find ends the doubt whether a create whose reply was lost took effect.
func (t *ticket) find() error {
	c := t.m.c
	// The connection may be to another server now, which may lag behind.
	if _, err := c.conn.Sync(t.m.path); err != nil {
		return fmt.Errorf("zklock: look for own ticket at %s: %w", t.m.path, err)
	}
	names, _, err := c.conn.Children(t.m.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("zklock: look for own ticket at %s: %w", t.m.path, err)
	}
	t.doubt = false
	for _, name := range names {
		if strings.HasPrefix(name, t.unique) {
			t.node, t.session = name, c.sessions() // read after the reply, as in enter
		}
	}
	return nil
}

// withdraw removes the ticket's node, if there is one. It goes on through lost
// connections until the node is gone, the session that owns it is over or the
// client is closed. removed is true if the node was there until now.
func (t *ticket) withdraw() (removed bool, err error) {
	c := t.m.c
	var again pause
	var lostReply bool
	for refused := 0; ; {
		err := c.open.Err()
		switch {
		case err != nil:
			return false, ErrClosed // the node goes with the session
		case t.doubt:
			err = t.find()
		case t.node == "" || t.session != c.sessions():
			return false, nil
		default:
			err = c.conn.Delete(t.path(), -1)
			if errors.Is(err, zk.ErrNoNode) {
				return lostReply, nil
			}
			if err == nil {
				return true, nil
			}
			lostReply = lostReply || transient(err)
		}
		if err == nil {
			continue // find has ended the doubt
		}
		if refused++; !transient(err) && refused >= 5 {
			return false, fmt.Errorf("zklock: withdraw from %s: %w", t.m.path, err)
		}
		if err := again.wait(c.open, c); err != nil {
			return false, ErrClosed
		}
	}
}
