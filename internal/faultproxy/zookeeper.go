package faultproxy

import (
	"locklab/internal/wire"
	"slices"
)

// ZooKeeper returns the framing of one connection of a ZooKeeper client: each message is
// a 32-bit big-endian length and a body. The first message of each direction is the
// handshake. Every later body starts with an xid, which a reply copies from its request.
func ZooKeeper() Framing { return new(zooKeeper) }

type zooKeeper struct {
	shaken [2]bool // by Direction: the handshake has passed
	calls  int
	open   []call // oldest first
}

func (*zooKeeper) Cut(_ Direction, stream []byte) (int, error) { return wire.CutFrame(stream) }

func (z *zooKeeper) Read(d Direction, raw []byte) Message {
	body := raw[min(wire.LengthBytes, len(raw)):]
	first := !z.shaken[d]
	z.shaken[d] = true
	switch {
	case d == Request:
		r, code := &ZooRequest{Op: "connect"}, int32(0)
		if !first {
			r, code = readRequest(body)
		}
		z.calls++
		c := call{number: z.calls, op: r.Op, xid: r.Xid, code: code, key: r.Path}
		if len(r.Ops) > 0 {
			c.key = r.Ops[0].Path
		}
		z.open = append(z.open, c)
		return Message{Op: c.op, Key: c.key, Call: c.number, Body: r}
	case first:
		c := z.answered(func(c call) bool { return c.op == "connect" })
		return Message{Op: "connect", Call: c.number, Body: new(ZooReply)}
	}
	xid := wire.NewRecord(body).Int()
	if xid == wire.XidEvent {
		e := readEvent(body)
		return Message{Op: "event", Key: e.Path, Body: e}
	}
	// Pings share an xid, and are answered in order.
	c := z.answered(func(c call) bool { return c.op != "connect" && c.xid == xid })
	return Message{Op: c.op, Key: c.key, Call: c.number, Body: readReply(body, c.code)}
}

func (z *zooKeeper) answered(ok func(call) bool) (c call) {
	if i := slices.IndexFunc(z.open, ok); i >= 0 {
		c = z.open[i]
		z.open = slices.Delete(z.open, i, i+1)
	}
	return c
}
