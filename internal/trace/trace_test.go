package trace

import (
	"locklab/internal/faultproxy"
	"strings"
	"testing"
	"time"
)

func TestTraceDoubt(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  []string
		honest bool
	}{
		{"the same", []string{"x-0000000001"}, true},
		{"one is missing", nil, false},
		{"one is unexplained", []string{"x-0000000001", "x-0000000002"}, false},
	} {
		r := &recorder{open: make(map[callID]*event)}
		r.start(snapshot{})
		at := time.Now()
		create := &faultproxy.ZooRequest{Op: "create", Path: "/l/x-", Flags: 3}
		r.see("A", faultproxy.Sighting{At: at, Conn: 1, Message: faultproxy.Message{Op: "create", Call: 1, Body: create}})
		r.see("A", faultproxy.Sighting{At: at, Conn: 1, Dir: faultproxy.Reply,
			Message: faultproxy.Message{Op: "create", Call: 1, Body: &faultproxy.ZooReply{Path: "/l/x-0000000001"}}})
		r.addSnapshot(snapshot{nodes: c.nodes})
		if _, err := r.timeline("/l"); (err == nil) != c.honest {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTraceTree(t *testing.T) {
	ok, missing := &faultproxy.ZooReply{}, &faultproxy.ZooReply{Err: faultproxy.NoNode}
	z := &zooTree{path: "/l", owners: make(map[string]string)}
	show := func() string {
		var parts []string
		for _, n := range z.nodes() {
			parts = append(parts, n.String())
		}
		return strings.Join(parts, "; ")
	}
	created := func(path string) *faultproxy.ZooReply { return &faultproxy.ZooReply{Path: path} }
	part := func(ops ...faultproxy.ZooReply) *faultproxy.ZooReply { return &faultproxy.ZooReply{Ops: ops} }
	swap := &faultproxy.ZooRequest{Op: "multi", Ops: []faultproxy.ZooRequest{
		{Op: "create", Path: "/l/b-", Flags: 3}, {Op: "delete", Path: "/l/a"}}}
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { z.call("A", &faultproxy.ZooRequest{Op: "create2", Path: "/l/a"}, created("/l/a")) }, "a"},
		{func() { z.call("A", &faultproxy.ZooRequest{Op: "create", Path: "/l/a/deep"}, created("/l/a/deep")) }, "a"},
		{func() { z.call("B", &faultproxy.ZooRequest{Op: "exists", Path: "/l/a", Watch: true}, ok) }, "a, watched by B"},
		{func() { z.call("C", &faultproxy.ZooRequest{Op: "getData", Path: "/l/a", Watch: true}, ok) }, "a, watched by B and C"},
		{func() { z.call("C", &faultproxy.ZooRequest{Op: "getData", Path: "/l/a", Watch: true}, nil) }, "a, watched by B and C"},
		{func() { z.event("B", &faultproxy.ZooEvent{Type: faultproxy.NodeDataChanged, Path: "/l/a"}) }, "a, watched by C"},
		{func() { z.event("C", &faultproxy.ZooEvent{Type: faultproxy.NodeChildrenChanged, Path: "/l/a"}) }, "a, watched by C"},
		{func() { z.call("A", swap, part(faultproxy.ZooReply{}, faultproxy.ZooReply{Err: faultproxy.NoNode})) }, "a, watched by C"},
		{func() { z.call("A", swap, part(faultproxy.ZooReply{Path: "/l/b-0000000009"}, faultproxy.ZooReply{})) }, "b-0000000009, A's"},
		{func() { z.call("A", &faultproxy.ZooRequest{Op: "getData", Path: "/l/c", Watch: true}, missing) }, "b-0000000009, A's"},
		{func() { z.call("A", &faultproxy.ZooRequest{Op: "getChildren", Path: "/l", Watch: true}, ok) }, "., watched by A; b-0000000009, A's"},
		{func() { z.event("A", &faultproxy.ZooEvent{Type: faultproxy.NodeDeleted, Path: "/l"}) }, "b-0000000009, A's"},
	} {
		if c.do(); show() != c.want {
			t.Errorf("the tree is %q, want %q", show(), c.want)
		}
	}
}

func TestTraceWords(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"SET", "a", "b"}, "SET a b"},
		{[]string{"SET", "a\x1b[2J", "\xff\t\n"}, `SET "a\x1b[2J" "\xff\t\n"`},
		{[]string{"EVAL", "local x\n\treturn x", "0"}, "EVAL local x\n return x 0"},
	} {
		if got := words(c.command); got != c.want {
			t.Errorf("words(%q) = %q, want %q", c.command, got, c.want)
		}
	}
}
