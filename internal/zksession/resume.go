package zksession

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/wire"
)

// A resumption is the beginning of a connection that resumes a session. The library
// (go-zookeeper v1.0.4, Conn.loop) then has two unordered goroutines: one sends requests, the
// other the pending watches (SetWatches). A watch of an earlier request would get the event of
// an older watch on its path.
//
// So requests wait here until SetWatches is sent. The library sends none if no watch is pending,
// so the wait is bounded. SetWatches after a request that stopped waiting breaks the connection,
// and the library starts over. The [debt] determines which events SetWatches asks for.
//
// For many watches the library makes several packets, and sends each after the answer to the one
// before: requests wait for all of them. A multi does not wait, as it sets no watch, so the
// client can prove its session at once. Every Write of the library is one packet.
type resumption struct {
	mu        sync.Mutex
	shook     bool   // the handshake has been sent
	waiting   bool   // for SetWatches
	overtaken bool   // requests have been sent before SetWatches
	held      []byte // requests that wait
	timer     *time.Timer
}

// resumeWait limits the wait for SetWatches, which the library sends at once.
const resumeWait = 100 * time.Millisecond

var errOvertaken = errors.New("zksession: requests have overtaken the watches of the session: connect again")

// longestPath is the longest path in the client's requests, and so in SetWatches.
type longestPath struct{ bytes atomic.Int64 }

func (l *longestPath) note(packet []byte) {
	for _, op := range []int32{wire.OpExists, wire.OpGetData, wire.OpGetChildren2} {
		if path, _ := requestPath(packet, op); int64(len(path)) > l.bytes.Load() {
			l.bytes.Store(int64(len(path))) // the library writes in one goroutine
		}
	}
}

// leavesRoom reports whether another path would have fit into packet, a SetWatches: then it is
// the last. limit is the library's (Conn.sendSetWatches).
func (l *longestPath) leavesRoom(packet []byte) bool {
	const limit = 128 << 10
	return len(packet)-wire.LengthBytes+4+int(l.bytes.Load()) <= limit
}

func resumes(p []byte) bool {
	const id = wire.HelloSession
	return len(p) >= id+8 && binary.BigEndian.Uint64(p[id:]) != 0
}

// write sends p to the server, or keeps it for later.
func (r *resumption) write(c *conn, p []byte) (int, error) {
	to := c.Conn
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shook {
		r.shook, r.waiting = true, resumes(p)
		return to.Write(p)
	}
	if !r.waiting && !r.overtaken {
		return to.Write(p)
	}
	op, ok := word(p[min(wire.LengthBytes, len(p)):], 1)
	switch {
	case !ok || op == wire.OpPing || op == wire.OpAuth || op == wire.OpMulti || op == wire.OpCloseSession:
		return to.Write(p)
	case op != wire.OpSetWatches && op != wire.OpSetWatches2:
		if r.overtaken {
			return to.Write(p)
		}
		if r.timer == nil {
			r.wait(c)
		}
		r.held = append(r.held, p...)
		c.held(p)
		return len(p), nil
	case r.overtaken:
		return 0, errors.Join(errOvertaken, to.Close())
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	n, err := to.Write(p)
	if r.waiting = !c.owner.longest.leavesRoom(p); !r.waiting && err == nil {
		err = r.release(c)
	}
	return n, err
}

// answered records a reply to SetWatches. If more follow, they come now.
func (r *resumption) answered(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting {
		r.wait(c)
	}
}

// The caller holds r.mu.
func (r *resumption) wait(c *conn) {
	r.timer = time.AfterFunc(resumeWait, func() { r.giveUp(c) })
}

func (r *resumption) giveUp(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting {
		r.waiting, r.overtaken = false, true
		if r.release(c) != nil {
			c.Conn.Close()
		}
	}
}

func (r *resumption) release(c *conn) error {
	held := r.held
	r.held = nil
	if len(held) == 0 {
		return nil
	}
	c.released()
	_, err := c.Conn.Write(held)
	return err
}

func (r *resumption) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = false
	if r.timer != nil {
		r.timer.Stop()
	}
}

// A debt is the zxid from which on the server still owes events of pending watches. The library
// (go-zookeeper v1.0.4) asks in SetWatches for events since the last reply that it has seen. If
// a connection breaks before all watches are restored, the events between are lost. So
// SetWatches asks for events since the last reply of the connection on which the watches were
// complete. An extra event is harmless: after a reconnect no event is trusted without a look.
//
// The library also reads that zxid in one goroutine (Conn.sendSetWatches) while another writes
// it (Conn.recvLoop), a data race. So it reads 0 in every reply, and its handshakes get the
// real one here.
type debt struct {
	since uint64    // the zxid; 0 if nothing is owed
	asked bool      // SetWatches without an answer were sent
	began time.Time // when the server resumed the session; zero if it has not
}

// debtLasts is the age of a connection without SetWatches that has none to send.
const debtLasts = 5 * time.Second

// greet records a handshake, and inserts seen, the greatest received zxid, in a resuming one.
func (d *debt) greet(hello []byte, seen uint64, now time.Time) {
	if !resumes(hello) {
		*d = debt{}
		return
	}
	binary.BigEndian.PutUint64(hello[wire.HelloZxid:], seen)
	paid := d.since == 0 || !d.asked && !d.began.IsZero() && now.Sub(d.began) > debtLasts
	if paid || seen < d.since {
		d.since = seen
	}
	d.asked, d.began = false, time.Time{}
}

// ask makes packet, a SetWatches, ask for everything that is owed.
func (d *debt) ask(packet []byte) {
	const zxid = wire.LengthBytes + 8 // behind the header
	if d.asked = true; len(packet) >= zxid+8 {
		binary.BigEndian.PutUint64(packet[zxid:], d.since)
	}
}

// answered: more means that other replies may follow.
func (d *debt) answered(more bool) {
	d.asked = false
	if !more {
		*d = debt{}
	}
}
