package peers_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	"locklab/peers"
)

// TestCuratorDowngrade: a writer that also reads, and then unlocks its write, keeps other
// writers out, as Curator up to 5.4.0 does not (CURATOR-621).
func TestCuratorDowngrade(t *testing.T) {
	needTime(t)
	needJavaAlone(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for _, test := range []struct{ owner, next string }{
		{"curator-rw", "curator-rw"},
		{"zk-rw-curator", "curator-rw"},
		{"zk-rw-curator", "zk-rw"},
	} {
		beside := downgradeBesideWriter(t, at, variant(test.owner), variant(test.next))
		wrong := test.owner == "curator-rw" && before55(t)
		if beside != wrong {
			t.Errorf("the owner is %s (Curator %s), the next %s: it gets in beside the owner: %t, want %t",
				test.owner, peers.CuratorVersion(), test.next, beside, wrong)
		}
	}
}

// downgradeBesideWriter reports whether a waiting writer gets in when a holder reads and stops writing.
func downgradeBesideWriter(t *testing.T, at harness.Endpoint, owner, next *harness.Variant) (beside bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key := newKey()
	_, mine := joinAt(t, owner, at, key)
	_, theirs := joinAt(t, next, at, key)
	writes := mustLock(t, mine)
	waits := make(chan harness.Lease, 1)
	go func() {
		defer close(waits)
		l, err := theirs.Lock(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		waits <- l
	}()
	time.Sleep(time.Second) // its ticket is before the reader's
	reads, err := mine.(harness.RWSession).RLock(ctx)
	requireNoError(t, err)
	requireNoError(t, writes.Unlock(ctx))
	var l harness.Lease
	select {
	case l = <-waits:
		beside = true
	case <-time.After(2 * time.Second):
	}
	requireNoError(t, reads.Unlock(ctx))
	if l == nil {
		l = <-waits
	}
	if l == nil {
		t.FailNow()
	}
	requireNoError(t, l.Unlock(ctx))
	return beside
}

func before55(t *testing.T) bool {
	var major, minor int
	if _, err := fmt.Sscanf(peers.CuratorVersion(), "%d.%d", &major, &minor); err != nil {
		t.Fatalf("the version of Curator is %q: %v", peers.CuratorVersion(), err)
	}
	return major < 5 || major == 5 && minor < 5
}

// TestCuratorInterrupted shows why curator-semaphore-mutex may get stuck: a waiter that is
// interrupted while it removes the ticket of the inner mutex leaves its lease node. If Curator
// fixes this, change MayStick and the documentation.
func TestCuratorInterrupted(t *testing.T) {
	needJavaAlone(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for name, test := range map[string]struct{ last, stuck bool }{
		"while it waits":   {last: false, stuck: false},
		"in its last step": {last: true, stuck: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInterruptStage(t, at)
			s.interrupt(t, test.last)
			if got := s.stuck(t); got != test.stuck {
				t.Errorf("nothing holds the lock and it is stuck: %t, want %t", got, test.stuck)
			}
			if err := s.late.Close(); err != nil { // its session ends
				t.Error(err)
			}
			takeTurn(t, s.holds)
		})
	}
}

type interruptStage struct {
	look         *observer
	proxy        *faultproxy.Proxy
	late         harness.Remote
	holds, waits harness.Session
}

func newInterruptStage(t *testing.T, at harness.Endpoint) *interruptStage {
	t.Helper()
	key, v := newKey(), variant("curator-semaphore-mutex")
	p, err := faultproxy.New(at.Addrs[0][0], faultproxy.ZooKeeper, faultproxy.Options{})
	requireNoError(t, err)
	t.Cleanup(func() { p.Close() })
	s := &interruptStage{look: newObserver(t, at, "/locklab/"+key), proxy: p}
	_, s.holds = joinAt(t, v, at, key)
	at.Addrs = [][]string{{p.Addr()}}
	s.late, s.waits = joinAt(t, v, at, key)
	return s
}

func (s *interruptStage) nodes(t *testing.T, child string, n int) {
	t.Helper()
	var names []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var err error
		if names, _, err = s.look.conn.Children(s.look.path + child); err == nil && len(names) == n {
			return
		}
	}
	t.Fatalf("below %s are %q, want %d", child, names, n)
}

// interrupt makes the waiter give up while the lock is held; if last is set, after the server
// removed the waiter's ticket, before it is notified.
func (s *interruptStage) interrupt(t *testing.T, last bool) {
	t.Helper()
	lease := mustLock(t, s.holds)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := s.waits.Lock(ctx)
		gaveUp <- err
	}()
	s.nodes(t, "/leases", 2)
	if !last {
		cancel()
	}
	s.proxy.Delay(faultproxy.Reply, 500*time.Millisecond)
	defer s.proxy.Delay(faultproxy.Reply, 0)
	if last {
		requireNoError(t, lease.Unlock(t.Context()))
		s.nodes(t, "/locks", 0)
		cancel()
	}
	expectError(t, <-gaveUp, context.Canceled)
	if !last {
		requireNoError(t, lease.Unlock(t.Context()))
	}
}

// stuck reports whether the last holder cannot get the lock again within some seconds.
func (s *interruptStage) stuck(t *testing.T) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	lease, err := s.holds.Lock(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return true
	case err != nil:
		t.Fatal(err)
	}
	requireNoError(t, lease.Unlock(t.Context()))
	return false
}

// TestCuratorTLS contends, measures and is refused over a server's TLS port.
func TestCuratorTLS(t *testing.T) {
	needTime(t)
	needJavaAlone(t)
	server, err := backend.StartSetup(t.Context(), harness.KindZooKeeper, backend.Setup{TLS: true})
	locktest.RequireServers(t, harness.KindZooKeeper, err)
	defer server.Stop()
	at := server.Endpoint()
	mutex := variant("curator-mutex")
	t.Run("curator-mutex", func(t *testing.T) {
		contendFor(t, at, []*harness.Variant{mutex, mutex, variant("zk-handoff")}, nil, 60)
	})
	t.Run("in Java", func(t *testing.T) {
		w := harness.Workload{Workers: 4, TLS: true, Warmup: 200 * time.Millisecond, Window: 400 * time.Millisecond}
		r := measureLoop(t, measure.Calibrate(), at, "curator-mutex", w)
		if n, ok := result.Requests.Of(r); r.Ops > 40 && (!ok || n < 3*0.9 || n > 5*1.1) {
			t.Errorf("%.2f requests per acquisition, %t, want 3 to 5", n, ok)
		}
	})
	t.Run("refused", func(t *testing.T) { refusedSecurely(t, at) })
}

// refusedSecurely connects with invalid options, between two valid connections.
func refusedSecurely(t *testing.T, at harness.Endpoint) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	stranger := at
	stranger.RootsFile = filepath.Join(t.TempDir(), "other.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	requireNoError(t, os.WriteFile(stranger.RootsFile, text, 0o600))
	plain, nowhere, named := at, at, at
	plain.TLS, nowhere.RootsFile = nil, ""
	named.TLS = at.TLS.Clone()
	named.TLS.Certificates = []tls.Certificate{{}}
	java := peers.NewJavaPeer(javaAnswer, javaLinger, 0)
	connect := func(at harness.Endpoint, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c, err := java.Client(ctx, at, newKey())
		if err == nil {
			err = c.Close()
		}
		return err
	}
	requireNoError(t, connect(at, time.Minute))
	for _, c := range []struct {
		what string
		at   harness.Endpoint
		want error
	}{
		{"the certificate of another", stranger, context.DeadlineExceeded},
		{"no TLS", plain, context.DeadlineExceeded},
		{"no file of certificates", nowhere, harness.ErrUsage},
		{"a certificate of the client", named, harness.ErrUsage},
	} {
		if err := connect(c.at, 4*time.Second); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	requireNoError(t, connect(at, time.Minute))
}
