package zksession_test

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
	"locklab/internal/zksession"
)

// TestNewAddress: the session survives a new address of the server.
func TestNewAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has 127.0.0.2 without setup")
	}
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	first, err := faultproxy.New(at.Addrs[0][0], faultproxy.ZooKeeper, faultproxy.Options{Listen: "127.0.0.2:0"})
	requireNoError(t, err)
	defer first.Close()
	_, port, _ := net.SplitHostPort(first.Addr())
	var zone atomic.Pointer[[]string]
	zone.Store(&[]string{"127.0.0.2"})
	o := zksession.Resolving(zksession.Options{Servers: []string{"zk-0.test:" + port}, SessionTimeout: 30 * time.Second},
		func(context.Context, string) ([]string, error) { return *zone.Load(), nil })
	z := connect(t, o)
	session := z.SessionID()
	zone.Store(&[]string{"127.0.0.2", "127.0.0.3", "127.0.0.4"})
	first.Close()
	second, err := faultproxy.New(at.Addrs[0][0], faultproxy.ZooKeeper, faultproxy.Options{Listen: "127.0.0.3:" + port})
	requireNoError(t, err)
	defer second.Close()
	requireAnswer(t, z)
	if z.SessionID() != session {
		t.Error("the session is another one")
	}
	if !z.Elsewhere() {
		t.Error("a name leads to one server only")
	}
	connect(t, o)
}

func requireAnswer(t *testing.T, z *zksession.Conn) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		_, _, err := z.Exists("/")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
