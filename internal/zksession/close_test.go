package zksession_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/internal/zksession"
)

// TestClose: Close returns after the library has ended, in every state.
func TestClose(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	leaktest.All(t)
	for range 5 {
		z, err := zksession.Connect(t.Context(), zksession.Options{Servers: at.Addrs[0]})
		if err != nil {
			t.Fatal(err)
		}
		if z.Close(); !z.Ended() {
			t.Fatal("Close returned before the library's goroutines ended")
		}
		z.Close()
	}
}

func TestCloseLate(t *testing.T) {
	t.Parallel()
	const timeout, patience = 40 * time.Second, 20 * time.Second
	server, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{Servers: 1})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	connect := func() *zksession.Conn {
		z, err := zksession.Connect(t.Context(), zksession.Options{Servers: server.Endpoint().Addrs[0], SessionTimeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(z.Close)
		return z
	}
	z, see := connect(), connect()
	if z.SessionTimeout() != timeout {
		t.Fatalf("the server grants a session timeout of %v", z.SessionTimeout())
	}
	if _, err := z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if err := server.Signal(0, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	const requests = 200
	sent := func() uint64 { n, _ := z.Traffic(); return n }
	for before := sent(); sent() < before+requests; time.Sleep(time.Millisecond) {
		go z.Create("/more-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	}
	z.Close()
	if err := server.Signal(0, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
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
