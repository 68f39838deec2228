package zksession

import (
	"encoding/binary"
	"locklab/internal/wire"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestDebt: the zxids that SetWatches ask for, on successive connections of a session.
func TestDebt(t *testing.T) {
	const many = 128 << 10
	type packet struct {
		size   int
		answer bool
		want   uint64 // 0: it is not sent
	}
	type connection struct {
		seen     uint64
		requests bool          // are sent before the packets, without waiting for them
		packets  []packet      //
		lasts    time.Duration // at the end
	}
	for _, test := range []struct {
		name string
		all  []connection
	}{
		{"one after another", []connection{
			{seen: 5, packets: []packet{{0, true, 5}}},
			{seen: 7, packets: []packet{{0, true, 7}}},
		}},
		{"not answered for long", []connection{
			{seen: 5, packets: []packet{{0, false, 5}}, lasts: 2 * debtLasts},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
		{"overtaken", []connection{
			{seen: 5, requests: true, packets: []packet{{0, false, 0}}},
			{seen: 9, packets: []packet{{0, true, 5}}},
			{seen: 11, packets: []packet{{0, true, 11}}},
		}},
		{"not answered", []connection{
			{seen: 5, packets: []packet{{0, false, 5}}},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
		{"the second of two not answered", []connection{
			{seen: 5, packets: []packet{{many, true, 5}, {0, false, 5}}},
			{seen: 9, packets: []packet{{many, true, 5}, {0, true, 5}}},
			{seen: 11, packets: []packet{{0, true, 11}}},
		}},
		{"the second of two not sent", []connection{
			{seen: 5, packets: []packet{{many, true, 5}}},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
		{"none to send", []connection{
			{seen: 5, requests: true, lasts: 2 * debtLasts},
			{seen: 9, packets: []packet{{0, true, 9}}},
		}},
		{"broken before they are sent", []connection{
			{seen: 5, requests: true},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z, _ := newConn(nil)
				for n, conn1 := range test.all {
					z.zxid.Store(int64(conn1.seen))
					to := new(sink)
					c := &conn{Conn: to, owner: z}
					c.Write(hello(7))
					c.read(words(0, 4000, 0, 7))
					if conn1.requests {
						c.Write(frame(words(1, wire.OpCreate, 0, 0)))
						time.Sleep(2 * resumeWait)
					}
					var want []uint64
					for i, p := range conn1.packets {
						xid := int32(10 + i)
						c.Write(frame(append(words(xid, wire.OpSetWatches, 0, 0), make([]byte, p.size)...)))
						if p.answer {
							c.read(reply(xid, 0, 0))
						}
						if p.want != 0 {
							want = append(want, p.want)
						}
					}
					if got := asked(to.all()); !slices.Equal(got, want) {
						t.Errorf("connection %d asks for what is after %d, want %d", n, got, want)
					}
					time.Sleep(conn1.lasts)
					c.Close()
				}
			})
		})
	}
}

func asked(stream []byte) (zxids []uint64) {
	for first := true; len(stream) >= wire.LengthBytes; first = false {
		body := stream[wire.LengthBytes:][:binary.BigEndian.Uint32(stream)]
		stream = stream[wire.LengthBytes+len(body):]
		if op, ok := word(body, 1); ok && op == wire.OpSetWatches && !first {
			zxids = append(zxids, binary.BigEndian.Uint64(body[8:]))
		}
	}
	return zxids
}
