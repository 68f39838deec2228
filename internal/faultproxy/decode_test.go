package faultproxy_test

import (
	"crypto/rand"
	"fmt"
	"reflect"
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
	var l log
	p := startProxy(t, at.Addrs[0][0], faultproxy.ZooKeeper, &l)
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
		timeline = append(timeline, strings.ReplaceAll(formatSighting(s), root, "R"))
	}
	if !slices.Equal(timeline, wantTimeline) {
		t.Errorf("saw\n%s\nwant\n%s", strings.Join(timeline, "\n"), strings.Join(wantTimeline, "\n"))
	}
}

func drive(t *testing.T, c *wirezk.Conn, root string) {
	t.Helper()
	acl := zk.WorldACL(zk.PermAll)
	_, err := c.Create(root, nil, zk.FlagPersistent, acl)
	requireNoError(t, err)
	_, _, lists, err := c.ChildrenW(root)
	requireNoError(t, err)
	own, err := c.Create(root+"/lock-", []byte("data"), zk.FlagEphemeralSequential, acl)
	requireNoError(t, err)
	<-lists
	_, _, changes, err := c.GetW(own)
	requireNoError(t, err)
	_, err = c.Set(own, []byte("other"), 0)
	requireNoError(t, err)
	<-changes
	_, _ = c.Set(own, nil, 0) // of an older version
	_, _, comes, err := c.ExistsW(root + "/later")
	requireNoError(t, err)
	_, err = c.CreateContainer(root+"/later", nil, zk.FlagContainer, acl)
	requireNoError(t, err)
	<-comes
	_, _, err = c.Children(root)
	requireNoError(t, err)
	_, err = c.Sync(root)
	requireNoError(t, err)
	_, err = c.Multi(&zk.CreateRequest{Path: root + "/m", Acl: acl}, &zk.SetDataRequest{Path: root + "/m", Data: []byte("x")},
		&zk.CheckVersionRequest{Path: root, Version: -1}, &zk.DeleteRequest{Path: root + "/m", Version: 1})
	requireNoError(t, err)
	_, _ = c.Multi(&zk.DeleteRequest{Path: root + "/later", Version: -1}, &zk.DeleteRequest{Path: root, Version: -1}) // not empty
	requireNoError(t, c.Delete(root+"/later", -1))
	requireNoError(t, c.Delete(own, -1))
	requireNoError(t, c.Delete(root, -1))
	_ = c.Delete(root, -1) // there is no node
}

// formatSighting formats a sighting in a line, with the fields of its body that are not zero.
func formatSighting(s faultproxy.Sighting) string {
	head := strings.TrimSpace(s.Op + " " + s.Key)
	switch r := s.Body.(type) {
	case *faultproxy.ZooReply:
		slices.Sort(r.Children)
	case *faultproxy.ZooRequest:
		if r.Sequential() && r.Ephemeral() {
			head += " (ephemeral, sequential)"
		}
	}
	return map[faultproxy.Direction]string{faultproxy.Request: "> ", faultproxy.Reply: "< "}[s.Dir] + head + fields(reflect.ValueOf(s.Body).Elem())
}

func fields(v reflect.Value) (text string) {
	for i := range v.NumField() {
		switch f, name := v.Field(i), v.Type().Field(i).Name; {
		case f.IsZero() || name == "Xid":
		case name == "Ops":
			for k := range f.Len() {
				text += " [" + strings.TrimSpace(fields(f.Index(k))) + "]"
			}
		default:
			text += fmt.Sprintf(" %s=%v", name, f)
		}
	}
	return text
}

var wantTimeline = strings.Split(`> connect Op=connect
< connect
> auth Op=auth
< auth
> create R Op=create Path=R
< create R Path=R
> getChildren2 R Op=getChildren2 Path=R Watch=true
< getChildren2 R HasStat=true
> create R/lock- (ephemeral, sequential) Op=create Path=R/lock- Flags=3 DataLength=4
< event R Type=4 State=3 Path=R
< create R/lock- Path=R/lock-0000000000
> getData R/lock-0000000000 Op=getData Path=R/lock-0000000000 Watch=true
< getData R/lock-0000000000 DataLength=4 HasStat=true
> setData R/lock-0000000000 Op=setData Path=R/lock-0000000000 DataLength=5
< event R/lock-0000000000 Type=3 State=3 Path=R/lock-0000000000
< setData R/lock-0000000000 HasStat=true Version=1
> setData R/lock-0000000000 Op=setData Path=R/lock-0000000000
< setData R/lock-0000000000 Err=-103
> exists R/later Op=exists Path=R/later Watch=true
< exists R/later Err=-101
> createContainer R/later Op=createContainer Path=R/later Flags=4
< event R/later Type=1 State=3 Path=R/later
< createContainer R/later Path=R/later HasStat=true
> getChildren2 R Op=getChildren2 Path=R
< getChildren2 R Children=[later lock-0000000000] HasStat=true
> sync R Op=sync Path=R
< sync R Path=R
> multi R/m Op=multi [Op=create Path=R/m] [Op=setData Path=R/m DataLength=1] [Op=check Path=R Version=-1] [Op=delete Path=R/m Version=1]
< multi R/m [Path=R/m] [HasStat=true Version=1] [] []
> multi R/later Op=multi [Op=delete Path=R/later Version=-1] [Op=delete Path=R Version=-1]
< multi R/later [] [Err=-111]
> delete R/later Op=delete Path=R/later Version=-1
< delete R/later
> delete R/lock-0000000000 Op=delete Path=R/lock-0000000000 Version=-1
< delete R/lock-0000000000
> delete R Op=delete Path=R Version=-1
< delete R
> delete R Op=delete Path=R Version=-1
< delete R Err=-101
> closeSession Op=closeSession
< closeSession`, "\n")
