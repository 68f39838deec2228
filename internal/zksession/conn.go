package zksession

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/wire"
)

const codeAuthentication = -124 // KeeperException.Code.SESSIONCLOSEDREQUIRESASLAUTH

// conn is one TCP connection to a ZooKeeper server. It counts its packets, records their proofs
// of the session, and orders them if the library does not, see [resumption].
type conn struct {
	net.Conn
	owner *Conn

	in       frames
	received *bufio.Reader // nil before the first Read
	out      frames
	outCount int // frames begun in each direction; the first is the handshake
	inCount  int
	dead     time.Time // deadline of the handshake
	address  string    // of the server
	resume   resumption

	greeting time.Time // when the handshake was sent
	begins   bool      // the handshake asked for a new session

	mu sync.Mutex
	answers
}

// answers are guarded by conn.mu.
type answers struct {
	pending   []sent // requests without an answer, oldest first
	touches   touches
	committed time.Time // see [Proof]
	lingers   bool      // see linger
}

type sent struct {
	xid, op int32
	at      time.Time
	proves  time.Time // since when the session is touched, if it is a write that succeeds
	path    string    // of a create
	more    bool      // others of its kind may follow
	held    bool      // it waits, see [resumption]
}

func (c *conn) Write(p []byte) (int, error) {
	// Recorded before it is sent: the answer may be read before Write returns.
	now := c.owner.time()
	c.owner.longest.note(p)
	c.out.pass(p, func(head []byte) { c.wrote(head, now, p) })
	c.checkBound(p)
	n, err := c.resume.write(c, p)
	if err != nil && c.outCount > 1 {
		// The library (v1.0.4) answers a request whose Write fails twice, and the credentials
		// after a reconnect have room for one answer: the client would block forever. So only
		// the end of the connection reports the failure.
		c.Conn.Close()
		return len(p), nil
	}
	return n, err
}

func (c *conn) Close() error {
	defer c.resume.stop() // last, for a Write that blocks
	c.mu.Lock()
	lingers := c.lingers
	c.mu.Unlock()
	if lingers {
		return nil
	}
	return c.Conn.Close()
}

// Read is buffered: the library reads each length separately, by another system call.
func (c *conn) Read(p []byte) (int, error) {
	if c.received == nil {
		c.received = bufio.NewReader(c.Conn)
		if head, err := c.received.Peek(wire.LengthBytes); err == nil && binary.BigEndian.Uint32(head) > maxGreeting {
			err = wire.Foreign(head)
			c.unanswered(err)
			return 0, err // the library would allocate that much
		}
	}
	n, err := c.received.Read(p)
	c.in.pass(p[:n], c.read)
	if err != nil && c.inCount == 0 && !errors.Is(err, net.ErrClosed) { // closed on this side
		c.unanswered(err)
	}
	return n, err
}

// SetReadDeadline shortens the library's deadline for the handshake, ten receive timeouts: a
// stopped server, which still accepts connections, would hold the client for too long.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.inCount == 0 && (t.IsZero() || t.After(c.dead)) {
		t = c.dead
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lingers {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// wrote records packet, whose body begins with head, before it is sent.
func (c *conn) wrote(head []byte, at time.Time, packet []byte) {
	c.outCount++
	xid, ok := word(head, 0)
	op, ok2 := word(head, 1)
	if c.outCount == 1 {
		c.greeting, c.begins = at, !resumes(packet)
		c.owner.mu.Lock()
		defer c.owner.mu.Unlock()
		c.owner.debt.greet(packet, c.owner.Zxid(), at)
		c.owner.hello = bytes.Clone(packet)
		return
	}
	if !ok || !ok2 {
		return
	}
	path, _ := requestPath(packet, wire.OpCreate)
	more := false
	switch op {
	case wire.OpSetWatches, wire.OpSetWatches2:
		more = !c.owner.longest.leavesRoom(packet)
		c.owner.mu.Lock()
		c.owner.debt.ask(packet)
		c.owner.mu.Unlock()
	case wire.OpPing, wire.OpAuth, wire.OpCloseSession:
	default:
		if c.owner.entering.Load() {
			op = wire.OpAuth // counts as little
		} else {
			c.owner.counter.requests.Add(1)
		}
	}
	c.mu.Lock()
	c.pending = append(c.pending, sent{xid, op, at, c.touches.proves(at), path, more, false})
	c.mu.Unlock()
}

// held records that the request in packet waits. Its answer is not late before it is sent.
func (c *conn) held(packet []byte) {
	xid, _ := word(packet[wire.LengthBytes:], 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.pending {
		if s.xid == xid {
			c.pending[i].held = true
		}
	}
}

func (c *conn) released() {
	now := c.owner.time()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.pending {
		if s.held {
			c.pending[i].held, c.pending[i].at = false, now
		}
	}
}

func (c *conn) read(head []byte) {
	c.inCount++
	if c.inCount == 1 {
		c.in.blank = true // see [debt]
		if ms, ok := word(head, 1); ok && ms > 0 {
			c.owner.timeout.Store(int64(time.Duration(ms) * time.Millisecond))
			c.greeted()
		} else {
			c.owner.expired()
		}
		return
	}
	xid, ok := word(head, 0)
	switch {
	case !ok:
	case xid == wire.XidEvent:
		c.owner.counter.notifications.Add(1)
	default:
		if code, _ := word(head, 3); code == codeAuthentication {
			c.owner.refuse(ErrAuthentication)
		}
		if c.answered(xid, head) {
			c.resume.answered(c) // without c.mu, which it locks
		}
	}
}

// linger keeps an unused connection's socket open until the session would time out, if the
// server has not answered the request to end it, and reports whether it does. A closed socket
// refuses answers: then the server drops the unread requests, and the session stays.
func (c *conn) linger() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lingers || !slices.ContainsFunc(c.pending, func(s sent) bool { return s.op == wire.OpCloseSession }) {
		return c.lingers
	}
	c.lingers = true
	time.AfterFunc(c.owner.SessionTimeout(), func() { c.Conn.Close() })
	c.Conn.SetDeadline(time.Unix(1, 0)) // ends the library's reads and writes
	return true
}

// A Link is one TCP connection of a [Conn], and so part of one session.
type Link struct{ c *conn }

// ErrOtherLink is returned by [Conn.DeleteOn] if the connection is gone. Nothing was deleted.
var ErrOtherLink = errors.New("zksession: the request was for a connection that has gone")

// Link returns the latest connection. Later requests use it or a later one.
func (z *Conn) Link() Link {
	z.mu.Lock()
	defer z.mu.Unlock()
	return Link{z.now}
}

// DeleteOn deletes the node at path, whatever its version, if the request is sent on that
// connection. Without a connection the library keeps a request for the next one, perhaps of
// another session, when the caller's view of the node may be outdated. Such a request is changed
// to a version that no node has. No other DeleteOn of the same path may be in progress.
func (z *Conn) DeleteOn(on Link, path string) error {
	z.bound.Store(path, on.c)
	defer z.bound.Delete(path)
	err := z.Conn.Delete(path, -1)
	if errors.Is(err, zk.ErrBadVersion) {
		return ErrOtherLink
	}
	return err
}

// noVersion is a version that no node has: versions count from 0.
const noVersion = math.MinInt32

// checkBound makes packet harmless if it is a deletion that is bound to another connection than c.
// Every Write of the library is one whole packet; DeleteRequest is a path and a version.
func (c *conn) checkBound(packet []byte) {
	path, end := requestPath(packet, wire.OpDelete)
	if path == "" || len(packet) < end+4 {
		return
	}
	if want, ok := c.owner.bound.Load(path); ok && want != c {
		version := int32(noVersion)
		binary.BigEndian.PutUint32(packet[end:], uint32(version))
	}
}
