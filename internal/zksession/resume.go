package zksession

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// A resumption is the first moments of a connection that takes up a session
// again. The library (go-zookeeper v1.0.4, Conn.loop) then has two goroutines
// that know nothing of each other: one sends what callers ask for, the other
// the watches that were pending (SetWatches), with the zxid of the last reply.
// When a reply to the first comes before the second has read that zxid, the
// server takes it that the client has seen all that happened while it was away,
// and keeps those events to itself: the watch never fires.
//
// So the requests wait here until SetWatches has gone. The library sends none
// if no watch is pending, hence not for ever; and SetWatches that come after a
// request which did not wait any longer break the connection, and the library
// begins again. By then it has seen later replies: what SetWatches asks for is counted
// from the connection on which the watches were last whole, see [debt].
//
// Of many watches the library makes several packets, and sends each when the one before
// has been answered: requests wait for all of them. A watch that a request sets in between
// would have the event of an older one of that path.
//
// Every Write of the library is one packet.
type resumption struct {
	mu        sync.Mutex
	shook     bool   // the handshake has been sent
	waiting   bool   // for SetWatches
	overtaken bool   // requests have been sent before SetWatches
	held      []byte // requests that wait
	timer     *time.Timer
}

// resumeWait is how long requests wait for SetWatches, which the library sends
// at once: long for a goroutine of a busy machine, short beside a reconnect.
const resumeWait = 100 * time.Millisecond

// manyWatches is more than half of what the library puts into one packet: another may
// follow, when that has been answered, for which requests wait for manyWait.
const (
	manyWatches = 64 << 10
	manyWait    = 2 * time.Second
)

var errOvertaken = errors.New("zksession: requests have overtaken the watches of the session: connect again")

// resumes reports whether a handshake takes up a session: ConnectRequest is
// protocol version, last zxid, timeout, session id … behind its length.
func resumes(p []byte) bool {
	const id = lengthBytes + 4 + 8 + 4
	return len(p) >= id+8 && binary.BigEndian.Uint64(p[id:]) != 0
}

// write sends p to the server, or keeps it for later.
func (r *resumption) write(to net.Conn, p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shook {
		r.shook, r.waiting = true, resumes(p)
		return to.Write(p)
	}
	if !r.waiting && !r.overtaken {
		return to.Write(p)
	}
	op, ok := word(p[min(lengthBytes, len(p)):], 1)
	switch {
	case !ok || op == opPing || op == opAuth || op == opCloseSession: // their replies have no zxid, or do not matter
		return to.Write(p)
	case op != opSetWatches && op != opSetWatches2:
		if r.overtaken {
			return to.Write(p)
		}
		if r.timer == nil {
			r.timer = time.AfterFunc(resumeWait, func() { r.giveUp(to) })
		}
		r.held = append(r.held, p...)
		return len(p), nil
	case r.overtaken:
		return 0, errors.Join(errOvertaken, to.Close())
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	n, err := to.Write(p)
	if len(p) > manyWatches {
		r.timer = time.AfterFunc(manyWait, func() { r.giveUp(to) })
		return n, err
	}
	r.waiting = false
	if err == nil {
		err = r.release(to)
	}
	return n, err
}

// giveUp sends the requests that wait when there is nothing to wait for.
func (r *resumption) giveUp(to net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting {
		r.waiting, r.overtaken = false, true
		if r.release(to) != nil {
			to.Close()
		}
	}
}

func (r *resumption) release(to net.Conn) error {
	held := r.held
	r.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := to.Write(held)
	return err
}

// stop ends the wait; the connection is closed.
func (r *resumption) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting, r.held = false, nil
	if r.timer != nil {
		r.timer.Stop()
	}
}
