package faultproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"locklab/internal/wire"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func num(ns ...int32) (b []byte) {
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func str(s string) []byte { return append(num(int32(len(s))), s...) }

func frame(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(num(int32(len(body))), body...)
}

type zooCase struct {
	ask, answer []byte
	want        ZooRequest
	reply       ZooReply
}

func zooCases() []zooCase {
	stat := slices.Concat(num(0, 1, 0, 2), make([]byte, 16), num(3, 4, 5, 0, 6, 7, 8, 0, 9))
	acl := slices.Concat(num(1, 31), str("world"), str("anyone"))
	return []zooCase{
		{slices.Concat(num(wire.OpCreate2), str("/a"), str("xy"), acl, num(3)), slices.Concat(str("/a1"), stat),
			ZooRequest{Op: "create2", Path: "/a", DataLength: 2, Flags: 3}, ZooReply{Path: "/a1", HasStat: true, Version: 3}},
		{slices.Concat(num(wire.OpCreateTTL), str("/a"), num(-1), acl, num(6, 0, 9)), slices.Concat(str("/a2"), stat),
			ZooRequest{Op: "createTTL", Path: "/a", Flags: 6}, ZooReply{Path: "/a2", HasStat: true, Version: 3}},
		{slices.Concat(num(wire.OpGetChildren), str("/a"), []byte{1}), slices.Concat(num(2), str("b"), str("")),
			ZooRequest{Op: "getChildren", Path: "/a", Watch: true}, ZooReply{Children: []string{"b", ""}}},
		{slices.Concat(num(wire.OpSetWatches2, 0, 1), num(1), str("/d"), num(0), num(1), str("/c"), num(-1), num(0)), nil,
			ZooRequest{Op: "setWatches2", Watches: []string{"/d", "/c"}}, ZooReply{}},
		{slices.Concat(num(wire.OpSetACL), str("/a"), acl, num(0)), stat,
			ZooRequest{Op: "setACL", Path: "/a"}, ZooReply{HasStat: true, Version: 3}},
		{num(4711), nil, ZooRequest{}, ZooReply{}},
		{slices.Concat(num(wire.OpGetData), str("/a")), num(3),
			ZooRequest{Op: "getData", Path: "/a"}, ZooReply{HasStat: true}},
	}
}

func TestZooKeeperOps(t *testing.T) {
	z := ZooKeeper()
	z.Read(Request, frame(num(0, 0, 0, 4000, 0, 0), str("")))
	z.Read(Reply, frame(num(0, 4000, 0, 7), str("")))
	for i, c := range zooCases() {
		xid := int32(i + 1)
		m := z.Read(Request, frame(num(xid), c.ask))
		c.want.Xid = xid
		if got := m.Body.(*ZooRequest); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("request %+v, want %+v", *got, c.want)
		}
		n := z.Read(Reply, frame(num(xid, 0, 77, 0), c.answer))
		if got := n.Body.(*ZooReply); !reflect.DeepEqual(*got, c.reply) || n.Call != m.Call || n.Op != m.Op || n.Key != m.Key {
			t.Errorf("reply %+v of %+v to %+v, want %+v", n, *got, m, c.reply)
		}
	}
	// A reply belongs to the request with its xid, for pings to the oldest.
	var asked []Message
	for _, xid := range []int32{-2, 50, 51, -2} {
		asked = append(asked, z.Read(Request, frame(num(xid, wire.OpSync), str(fmt.Sprint("/", xid)))))
	}
	for _, i := range []int{2, 0, 1, 3} {
		xid := asked[i].Body.(*ZooRequest).Xid
		if n := z.Read(Reply, frame(num(xid, 0, 77, 0), str("/"))); n.Call != asked[i].Call || n.Key != asked[i].Key {
			t.Errorf("%+v answers %+v", n, asked[i])
		}
	}
	if n := z.Read(Reply, frame(num(99, 0, 77, 0))); n.Call != 0 || n.Op != "" {
		t.Errorf("a reply to no request: %+v", n)
	}
}

func command(words ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

var redisCases = []struct {
	ask   []byte // nil: no command
	reply string // "": no reply yet
	want  string // op, key, call relative to the latest request, value
}{
	{command("SET", "k", "a b"), "+OK\r\n", "set k 0 OK"},
	{command("GET", "k"), "$3\r\na b\r\n", `get k 0 "a b"`},
	{command("GET", "k"), "$-1\r\n", "get k 0 (nil)"},
	{command("GET", "k"), "_\r\n", "get k 0 (nil)"},
	{command("EVALSHA", "abc", "2", "k1", "k2", "x"), "-NOSCRIPT no\r\n", "evalsha k1 0 (error) NOSCRIPT no"},
	{command("EVAL", "return 1", "0", "x"), ":1\r\n", "eval  0 1"},
	{command("HELLO", "3"), "%1\r\n+server\r\n$5\r\nredis\r\n", `hello 3 0 [server "redis"]`},
	{command("HGETALL", "k"), "|1\r\n+ttl\r\n:3\r\n*1\r\n#t\r\n", "hgetall k 0 [t]"},
	{command("GET", "a"), "", ""},
	{command("GET", "b"), ":1\r\n", "get a -1 1"},
	{nil, ">3\r\n+message\r\n+ch\r\n+hi\r\n", "push  0 [message ch hi]"},
	{nil, ":2\r\n", "get b 0 2"},
	{command("SUBSCRIBE", "ch1", "ch2"), ">3\r\n$9\r\nsubscribe\r\n$3\r\nch1\r\n:1\r\n", `subscribe ch1 0 ["subscribe" "ch1" 1]`},
	{command("PING"), ">3\r\n$9\r\nSubscribe\r\n$3\r\nch2\r\n:2\r\n", `subscribe ch1 -1 ["Subscribe" "ch2" 2]`},
	{nil, "+PONG\r\n", "ping  0 PONG"},
	{command("SUBSCRIBE", "ch1", "ch2"), "-NOPERM\r\n", "subscribe ch1 0 (error) NOPERM"},
	{command("LRANGE", "k", "0", "-1"), "*1\r\n+subscribe\r\n", "lrange k 0 [subscribe]"},
	{command("UNSUBSCRIBE"), ">3\r\n+unsubscribe\r\n+ch1\r\n:1\r\n", "unsubscribe  0 [unsubscribe ch1 1]"},
	{command("GET", "k"), ">3\r\n+unsubscribe\r\n+ch2\r\n:0\r\n", "  0 [unsubscribe ch2 0]"},
	{nil, ":3\r\n", "get k 0 3"},
	{nil, "+surprise\r\n", "  0 surprise"},
}

func TestRedisMessages(t *testing.T) {
	r := Redis()
	call := 0
	for _, c := range redisCases {
		if c.ask != nil {
			if n, err := r.Cut(Request, c.ask); n != len(c.ask) || err != nil {
				t.Fatalf("Cut(%q) = %d, %v", c.ask, n, err)
			}
			if m := r.Read(Request, c.ask); m.Call != call+1 {
				t.Fatalf("request %+v, want number %d", m, call+1)
			}
			call++
		}
		if c.reply == "" {
			continue
		}
		for i := range len(c.reply) {
			if n, err := r.Cut(Reply, []byte(c.reply[:i])); n != 0 || err != nil {
				t.Fatalf("Cut(%q) = %d, %v", c.reply[:i], n, err)
			}
		}
		if n, err := r.Cut(Reply, []byte(c.reply+"+more")); n != len(c.reply) || err != nil {
			t.Fatalf("Cut(%q) = %d, %v", c.reply, n, err)
		}
		m := r.Read(Reply, []byte(c.reply))
		relative := 0
		if m.Call > 0 {
			relative = m.Call - call
		}
		if got := fmt.Sprintf("%s %s %d %v", m.Op, m.Key, relative, m.Body); got != c.want {
			t.Errorf("%q: %s, want %s", c.reply, got, c.want)
		}
	}
}

func TestForeign(t *testing.T) {
	for _, c := range []struct {
		framing func() Framing
		stream  string
	}{
		{ZooKeeper, "ruok"},
		{ZooKeeper, "\xff\xff\xff\xff"},
		{Redis, "hello\r\n"},
		{Redis, "$x\r\n"},
		{Redis, "*-2\r\n"},
		{Redis, "\r\n"},
		{Redis, "$99999999\r\n"},
		{Redis, strings.Repeat("*1\r\n", 40)},
		{Redis, "+" + strings.Repeat("x", wire.MaxMessage)}, // without an end
	} {
		if n, err := c.framing().Cut(Reply, []byte(c.stream)); !errors.Is(err, wire.ErrForeign) {
			t.Errorf("Cut(%.50q) = %d, %v, want an error", c.stream, n, err)
		}
	}
}

func TestHostileLengths(t *testing.T) {
	const huge = 1<<31 - 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, n := range []int32{huge, -2, -1 << 31, 1 << 20} {
		for _, op := range []int32{wire.OpCreate, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2, wire.OpMulti, wire.OpSetWatches, wire.OpSetWatches2, wire.OpAuth} {
			z := ZooKeeper()
			z.Read(Request, frame(num(n, n, n, n, n, n)))
			z.Read(Reply, frame(num(n, n, n, n, n)))
			z.Read(Request, frame(num(1, op, n, n, n, n, n)))
			z.Read(Reply, frame(num(1, 0, 0, 0, n, n, n, n)))
			z.Read(Reply, frame(num(-1, 0, 0, 0, n, n, n, n)))
		}
		for _, kind := range "$*%>~|=!" {
			r := Redis()
			text := fmt.Appendf(nil, "%c%d\r\n", kind, n)
			r.Cut(Reply, text)
			r.Read(Reply, text)
			r.Read(Request, text)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

func drive(f Framing, d Direction, stream []byte) {
	for len(stream) > 0 {
		n, err := f.Cut(d, stream)
		if err != nil || n == 0 {
			return
		}
		if n < 0 || n > len(stream) {
			panic(fmt.Sprintf("Cut = %d of %d bytes", n, len(stream)))
		}
		f.Read(d, stream[:n])
		stream = stream[n:]
	}
}

func FuzzZooKeeper(f *testing.F) {
	shake := frame(num(0, 0, 0, 4000, 0, 0), str(""))
	f.Add(slices.Concat(shake, frame(num(1, wire.OpCreate), str("/a"), str("x"), num(1, 31), str("world"), str("anyone"), num(3))),
		slices.Concat(shake, frame(num(1, 0, 7, 0), str("/a1"))))
	f.Add(slices.Concat(shake, frame(num(1, wire.OpMulti), num(wire.OpDelete), []byte{0}, num(-1), str("/a"), num(-1), num(-1), []byte{1}, num(-1))),
		slices.Concat(shake, frame(num(1, 0, 7, 0), num(wire.OpError), []byte{0}, num(0), num(-101), num(-1), []byte{1}, num(-1))))
	f.Add(slices.Concat(shake, frame(num(-8, wire.OpSetWatches, 0, 9, 1), str("/a"), num(0, 0))),
		slices.Concat(shake, frame(num(-1, 0, 7, 0, 3, 3), str("/a"))))
	f.Fuzz(func(t *testing.T, requests, replies []byte) {
		z := ZooKeeper()
		drive(z, Request, requests)
		drive(z, Reply, replies)
		// Whole bodies, regardless of their frames.
		z.Read(Request, requests)
		z.Read(Reply, replies)
	})
}

func FuzzRedis(f *testing.F) {
	f.Add(command("EVALSHA", "abc", "1", "k"), []byte(":1\r\n"))
	f.Add(command("SUBSCRIBE", "a", "b"), []byte(">3\r\n+subscribe\r\n+a\r\n:1\r\n*-1\r\n"))
	f.Add(command("PING"), []byte("%1\r\n+a\r\n|1\r\n+b\r\n:1\r\n$2\r\nxy\r\n"))
	f.Fuzz(func(t *testing.T, requests, replies []byte) {
		r := Redis()
		drive(r, Request, requests)
		drive(r, Reply, replies)
		for _, d := range []Direction{Request, Reply} {
			m := r.Read(d, replies)
			if v, ok := m.Body.(wire.Value); ok {
				_ = v.String()
			}
		}
	})
}
