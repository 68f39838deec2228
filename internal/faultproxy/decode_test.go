package faultproxy_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
)

func TestZooKeeper(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	leaktest.All(t)
	at.Username, at.Password = "locklab", "secret"
	at.SessionTimeout = time.Second // pings while the test waits
	var l log
	p := start(t, at.Addrs[0][0], faultproxy.ZooKeeper, &l)
	at.Addrs = [][]string{{p.Addr()}}
	c, err := wirezk.Connect(t.Context(), at, wirezk.Options{})
	requireNoError(t, err)
	root := "/locklab-faultproxy-" + rand.Text()
	drive(t, c, root)
	for deadline := time.Now().Add(patience); p.Seen("ping") == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no ping")
		}
	}
	c.Close()

	var timeline []string
	asked := make(map[int]faultproxy.Sighting)
	for _, s := range l.all() {
		switch q := asked[s.Call]; {
		case s.Dir == faultproxy.Request:
			asked[s.Call] = s
		case s.Op == "event" && s.Call == 0:
		case s.Op == "" || q.Op != s.Op || q.Key != s.Key:
			t.Errorf("%+v answers %+v", s, q)
		}
		if s.Op == "ping" || s.Key == "/" { // the read of the root depends on the server
			continue
		}
		timeline = append(timeline, strings.ReplaceAll(tell(t, s), root, "R"))
	}
	if !slices.Equal(timeline, wantTimeline) {
		t.Errorf("saw\n%s\nwant\n%s", strings.Join(timeline, "\n"), strings.Join(wantTimeline, "\n"))
	}
}

// TestZooKeeperReconnect: the framing restarts with each connection, and decodes its requests.
func TestZooKeeperReconnect(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	leaktest.All(t)
	var l log
	p := start(t, at.Addrs[0][0], faultproxy.ZooKeeper, &l)
	at.Addrs = [][]string{{p.Addr()}}
	c, err := wirezk.Connect(t.Context(), at, wirezk.Options{})
	requireNoError(t, err)
	defer c.Close()
	path := "/locklab-faultproxy-" + rand.Text()
	if _, _, _, err := c.ExistsW(path); err != nil {
		t.Fatal(err)
	}
	p.Reset()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		for _, s := range l.all() {
			r, ok := s.Body.(*faultproxy.ZooRequest)
			if ok && s.Op == "setWatches" && s.Conn == 2 && slices.Equal(r.Watches, []string{path}) && !r.Short {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no setWatches with %s among %+v", path, l.all())
		}
	}
}

func drive(t *testing.T, c *wirezk.Conn, root string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		requireNoError(t, err)
	}
	acl := zk.WorldACL(zk.PermAll)
	_, err := c.Create(root, nil, zk.FlagPersistent, acl)
	must(err)
	_, _, lists, err := c.ChildrenW(root)
	must(err)
	own, err := c.Create(root+"/lock-", []byte("data"), zk.FlagEphemeralSequential, acl)
	must(err)
	<-lists
	_, _, changes, err := c.GetW(own)
	must(err)
	_, err = c.Set(own, []byte("other"), 0)
	must(err)
	<-changes
	_, err = c.Set(own, nil, 0)
	if err != zk.ErrBadVersion {
		t.Fatal(err)
	}
	_, _, comes, err := c.ExistsW(root + "/later")
	must(err)
	_, err = c.CreateContainer(root+"/later", nil, zk.FlagContainer, acl)
	must(err)
	<-comes
	names, _, err := c.Children(root)
	must(err)
	if len(names) != 2 {
		t.Fatalf("children %q", names)
	}
	_, err = c.Sync(root)
	must(err)
	_, err = c.Multi(&zk.CreateRequest{Path: root + "/m", Acl: acl}, &zk.SetDataRequest{Path: root + "/m", Data: []byte("x")},
		&zk.CheckVersionRequest{Path: root, Version: -1}, &zk.DeleteRequest{Path: root + "/m", Version: 1})
	must(err)
	if _, err = c.Multi(&zk.DeleteRequest{Path: root + "/later", Version: -1}, &zk.DeleteRequest{Path: root, Version: -1}); err != zk.ErrNotEmpty {
		t.Fatal(err)
	}
	must(c.Delete(root+"/later", -1))
	must(c.Delete(own, -1))
	must(c.Delete(root, -1))
	if err := c.Delete(root, -1); err != zk.ErrNoNode {
		t.Fatal(err)
	}
}

// tell formats a sighting in a line.
func tell(t *testing.T, s faultproxy.Sighting) string {
	head := strings.TrimSpace(s.Op + " " + s.Key)
	switch b := s.Body.(type) {
	case *faultproxy.ZooRequest:
		return fmt.Sprintf("> %s%s", head, request(b))
	case *faultproxy.ZooReply:
		if b.Short {
			t.Errorf("%s: %+v", head, b)
		}
		return fmt.Sprintf("< %s%s", head, reply(b))
	case *faultproxy.ZooEvent:
		return fmt.Sprintf("< %s type=%d state=%d", head, b.Type, b.State)
	}
	return fmt.Sprintf("? %+v", s)
}

func request(r *faultproxy.ZooRequest) string {
	text := ""
	add := func(on bool, format string, args ...any) {
		if on {
			text += fmt.Sprintf(" "+format, args...)
		}
	}
	add(r.Ephemeral(), "ephemeral")
	add(r.Sequential(), "sequential")
	add(r.Flags != 0, "flags=%d", r.Flags)
	add(r.DataLength > 0, "%d bytes", r.DataLength)
	add(r.Watch, "watch")
	add(r.Version != 0, "version=%d", r.Version)
	add(r.Short, "SHORT")
	for _, op := range r.Ops {
		text += " [" + op.Op + " " + op.Path + request(&op) + "]"
	}
	return text
}

func reply(r *faultproxy.ZooReply) string {
	text := fmt.Sprintf(" err=%d", r.Err)
	if r.Path != "" {
		text += " " + r.Path
	}
	if len(r.Children) > 0 {
		slices.Sort(r.Children)
		text += fmt.Sprintf(" %q", r.Children)
	}
	if r.DataLength > 0 {
		text += fmt.Sprintf(" %d bytes", r.DataLength)
	}
	if r.HasStat {
		text += fmt.Sprintf(" version %d", r.Version)
	}
	for _, op := range r.Ops {
		text += " [" + strings.TrimSpace(reply(&op)) + "]"
	}
	return text
}

var wantTimeline = strings.Split(`> connect
< connect err=0
> auth
< auth err=0
> create R
< create R err=0 R
> getChildren2 R watch
< getChildren2 R err=0 version 0
> create R/lock- ephemeral sequential flags=3 4 bytes
< event R type=4 state=3
< create R/lock- err=0 R/lock-0000000000
> getData R/lock-0000000000 watch
< getData R/lock-0000000000 err=0 4 bytes version 0
> setData R/lock-0000000000 5 bytes
< event R/lock-0000000000 type=3 state=3
< setData R/lock-0000000000 err=0 version 1
> setData R/lock-0000000000
< setData R/lock-0000000000 err=-103
> exists R/later watch
< exists R/later err=-101
> createContainer R/later flags=4
< event R/later type=1 state=3
< createContainer R/later err=0 R/later version 0
> getChildren2 R
< getChildren2 R err=0 ["later" "lock-0000000000"] version 0
> sync R
< sync R err=0 R
> multi R/m [create R/m] [setData R/m 1 bytes] [check R version=-1] [delete R/m version=1]
< multi R/m err=0 [err=0 R/m] [err=0 version 1] [err=0] [err=0]
> multi R/later [delete R/later version=-1] [delete R version=-1]
< multi R/later err=0 [err=0] [err=-111]
> delete R/later version=-1
< delete R/later err=0
> delete R/lock-0000000000 version=-1
< delete R/lock-0000000000 err=0
> delete R version=-1
< delete R err=0
> delete R version=-1
< delete R err=-101
> closeSession
< closeSession err=0`, "\n")
