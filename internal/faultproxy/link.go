package faultproxy

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"locklab/internal/machine"
)

// A link is a connection of a client with its connection to the server.
type link struct {
	p              *Proxy
	number         int
	client, server *net.TCPConn

	once sync.Once
	gone chan struct{}

	// Guarded by p.mu, except the framing's Cut.
	framing Framing
	lose    map[int]*Injection // calls whose reply will be lost
	gap     [2]bool            // a message, or the end, was lost to a black hole
	closed  [2]bool            // the source of that direction is closed

	forgotten bool // it is silent for ever
}

// end closes both connections, with a reset (RST) of some. The other reads all sent data.
func (k *link) end(reset ...*net.TCPConn) {
	k.once.Do(func() {
		for _, c := range reset {
			c.SetLinger(0) // without lingering data a closed connection is reset
		}
		k.client.Close()
		k.server.Close()
		close(k.gone)
	})
}

type parcel struct {
	raw   []byte
	due   time.Time  // not before
	fatal *Injection // not nil: break the link instead
}

const inFlight = 1024

func (k *link) carry() {
	var work sync.WaitGroup
	for _, way := range []struct {
		d        Direction
		from, to *net.TCPConn
	}{{Request, k.client, k.server}, {Reply, k.server, k.client}} {
		queue := make(chan parcel, inFlight)
		work.Go(func() { k.collect(way.d, way.from, queue) })
		work.Go(func() { k.deliver(way.d, way.to, queue) })
	}
	work.Wait()
}

func (k *link) collect(d Direction, from *net.TCPConn, queue chan<- parcel) {
	defer close(queue)
	var stream []byte
	unread := false
	for chunk := make([]byte, 32<<10); ; {
		n, err := from.Read(chunk)
		stream = append(stream, chunk[:n]...)
		for len(stream) > 0 {
			size := len(stream)
			if !unread {
				var foreign error
				size, foreign = k.framing.Cut(d, stream)
				if foreign != nil {
					unread, size = true, len(stream)
				}
			}
			if size == 0 {
				break
			}
			raw := bytes.Clone(stream[:size])
			stream = stream[size:]
			q, passes := k.p.scheduleParcel(k, d, raw, unread)
			if !passes {
				continue
			}
			select {
			case queue <- q:
			case <-k.gone:
				return
			}
		}
		if err != nil {
			if k.unheard(d) {
				<-k.gone
			}
			return
		}
	}
}

// unheard reports whether the other side does not see that the source of d is closed.
func (k *link) unheard(d Direction) bool {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	k.closed[d] = true
	if !k.p.hole[d] && !k.forgotten || k.closed[1-d] {
		return false
	}
	k.gap[d] = true
	return true
}

func (k *link) deliver(d Direction, to *net.TCPConn, queue <-chan parcel) {
	defer k.end()
	var alarm *machine.Alarm // made when first needed
	defer func() { alarm.Close() }()
	for q := range queue {
		if time.Until(q.due) > 0 {
			if alarm == nil {
				alarm = machine.NewAlarm()
			}
			if !until(alarm, q.due, k.gone) {
				return
			}
		}
		if q.fatal != nil {
			k.end(k.client)
			q.fatal.hit()
			return
		}
		if _, err := to.Write(q.raw); err != nil {
			if k.unheard(1 - d) {
				for range queue { // its source may still close
				}
			}
			return
		}
	}
}

func (p *Proxy) scheduleParcel(k *link, d Direction, raw []byte, unread bool) (parcel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Sighting{At: time.Now(), Conn: k.number, Dir: d}
	late := p.delay[d]
	if most := p.jitter[d]; most > 0 {
		late += rand.N(most)
	}
	q, passes := parcel{raw: raw, due: s.At.Add(late)}, true
	if !unread {
		s.Message = k.framing.Read(d, raw)
	}
	if d == Request {
		p.seen[s.Op]++
	}
	switch {
	case p.hole[d] || k.forgotten:
		k.gap[d], passes = true, false
	case d == Request && !unread:
		k.strike(&q, s)
	case d == Reply:
		q.fatal = k.lose[s.Call] // there is no call 0
	}
	if p.observe != nil {
		p.observe(s)
	}
	if p.edit != nil {
		q.raw = p.edit(d, raw)
	}
	return q, passes
}

func (k *link) strike(q *parcel, s Sighting) {
	i := k.p.struck(s.Message)
	switch {
	case i == nil:
	case i.fault.Do == LoseRequest:
		q.fatal = i
	case i.fault.Do == HoldBack:
		q.due = q.due.Add(i.fault.By)
		i.hit()
	default:
		k.lose[s.Call] = i
	}
}
