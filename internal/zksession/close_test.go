package zksession_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/internal/zksession"
)

// TestClose: Close returns after the library has ended, in every state.
func TestClose(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	leaktest.All(t)
	for range 5 {
		z := connect(t, zksession.Options{Servers: at.Addrs[0]})
		if z.Close(); !z.Ended() {
			t.Fatal("Close returned before the library's goroutines ended")
		}
		z.Close()
	}
}

func TestCloseLate(t *testing.T) {
	t.Parallel()
	const timeout, patience = 40 * time.Second, 20 * time.Second
	server, addrs := startServer(t, "")
	o := zksession.Options{Servers: addrs, SessionTimeout: timeout}
	z, see := connect(t, o), connect(t, o)
	if z.SessionTimeout() != timeout {
		t.Fatalf("the server grants a session timeout of %v", z.SessionTimeout())
	}
	if _, err := z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	requireNoError(t, server.Signal(0, syscall.SIGSTOP))
	const requests = 200
	sent := func() uint64 { n, _ := z.Traffic(); return n }
	for before := sent(); sent() < before+requests; time.Sleep(time.Millisecond) {
		go z.Create("/more-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	}
	z.Close()
	requireNoError(t, server.Signal(0, syscall.SIGCONT))
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		there, _, err := see.Exists("/held")
		if err == nil && !there {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the session lives on: %t, %v", there, err)
		}
	}
}
