package zksession

import (
	"encoding/binary"
	"locklab/internal/wire"
	"time"
)

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

// answered records a reply to SetWatches. more means that others may follow.
func (d *debt) answered(more bool) {
	d.asked = false
	if !more {
		*d = debt{}
	}
}
