package zksession

import (
	"encoding/binary"
	"time"
)

// A debt is from which zxid on the server still owes events of pending watches. The
// library (go-zookeeper v1.0.4) asks, in SetWatches, for those since the last reply that
// it has seen. On a connection that breaks before all watches are set again that may be
// too late: the events between are lost with it. So SetWatches ask for those since the
// last reply of the connection on which the watches were whole. An event too many does no
// harm: nothing that comes after a reconnect is believed without a look.
//
// The library also reads that zxid in one goroutine (Conn.sendSetWatches) while another
// writes it (Conn.recvLoop), which is a data race. So it gets to see no zxid: it reads 0 in
// every reply, and the last one is put into its handshakes here.
type debt struct {
	since uint64    // the zxid; 0 if nothing is owed
	asked bool      // SetWatches have been sent that are not answered
	began time.Time // when the server has taken up the session; zero if it has not
}

// debtLasts is how long a connection without SetWatches has lasted that has none to send.
const debtLasts = 5 * time.Second

// greet notes a handshake. If it takes up a session, of which the client has seen the
// replies up to that zxid, it tells the server so.
func (d *debt) greet(hello []byte, seen uint64, now time.Time) {
	if !resumes(hello) {
		*d = debt{}
		return
	}
	binary.BigEndian.PutUint64(hello[lengthBytes+4:], seen) // behind the protocol's version
	paid := d.since == 0 || !d.asked && !d.began.IsZero() && now.Sub(d.began) > debtLasts
	if paid || seen < d.since {
		d.since = seen
	}
	d.asked, d.began = false, time.Time{}
}

// ask lets packet, which is SetWatches, ask for all that is owed.
func (d *debt) ask(packet []byte) {
	const zxid = lengthBytes + 8 // behind the header
	if d.asked = true; len(packet) >= zxid+8 {
		binary.BigEndian.PutUint64(packet[zxid:], d.since)
	}
}

// answered notes a reply to SetWatches, after which more may follow or not.
func (d *debt) answered(more bool) {
	d.asked = false
	if !more {
		*d = debt{}
	}
}
