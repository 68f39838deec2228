package zklock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/stat"
	"locklab/zklock"
)

func benchClient(b *testing.B, at harness.Endpoint) *zklock.Client {
	b.Helper()
	c, err := zklock.Dial(b.Context(), at.Addrs[0], zklock.ClientOptions{SessionTimeout: 30 * time.Second})
	requireNoError(b, err)
	b.Cleanup(func() { c.Close() })
	return c
}

// BenchmarkHandover compares the handovers of zk-handoff and zk-fair, from the call of Unlock
// to the return of the next Lock, with the deletion of a node, from the call to the watch
// event, and with the release's multi alone. The order is random; the ratios are medians over
// the rounds, with 95 % intervals by order statistics.
func BenchmarkHandover(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindZooKeeper)
	c, d := benchClient(b, at), benchClient(b, at)
	path, fairPath := newPath(), newPath()
	measures := []struct {
		name string
		run  func() (time.Duration, error)
	}{
		{"bare", bareRemoval(b, at, func(c *zk.Conn, node string) error { return c.Delete(node, -1) })},
		{"bare-multi", bareRemoval(b, at, func(c *zk.Conn, node string) error {
			_, err := c.Multi(&zk.SetDataRequest{Path: node, Version: -1}, &zk.DeleteRequest{Path: node, Version: -1})
			return err
		})},
		{"handoff", handover(b, c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{}))},
		{"fair", handover(b, zklock.Fair(c.Mutex(fairPath, zklock.Options{})), zklock.Fair(d.Mutex(fairPath, zklock.Options{})))},
	}
	took := make([][]float64, len(measures))
	for b.Loop() {
		for _, i := range rand.Perm(len(measures)) {
			t, err := measures[i].run()
			if err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], float64(t))
		}
	}
	for i, m := range measures {
		b.ReportMetric(stat.Summarize(took[i]).Median, m.name+"-ns")
		if i == 0 {
			continue
		}
		var r []float64
		for k, t := range took[i] {
			r = append(r, t/took[0][k])
		}
		s := stat.Summarize(r)
		b.ReportMetric(s.Median, m.name+"/bare")
		b.ReportMetric(s.Lo, m.name+"/bare-lo")
		b.ReportMetric(s.Hi, m.name+"/bare-hi")
	}
}

const settle = 3 * time.Millisecond

func bareRemoval(b *testing.B, at harness.Endpoint, remove func(c *zk.Conn, node string) error) func() (time.Duration, error) {
	actor, watcher := benchConn(b, at), benchConn(b, at)
	return func() (time.Duration, error) {
		node, err := actor.Create("/locklab-bare-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err != nil {
			return 0, err
		}
		_, _, wake, err := watcher.GetW(node)
		if err != nil {
			return 0, err
		}
		time.Sleep(settle)
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- remove(actor, node) }()
		<-wake
		took := time.Since(began)
		return took, <-done
	}
}

func benchConn(b *testing.B, at harness.Endpoint) *zk.Conn {
	b.Helper()
	c, events, err := zk.Connect(at.Addrs[0], 30*time.Second, zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			return c
		}
	}
	b.Fatal("no session")
	return nil
}

// handover returns a measurement of a handover between two clients, which alternate.
func handover(b *testing.B, m, n *zklock.Mutex) func() (time.Duration, error) {
	held, err := m.Lock(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { held.Unlock(context.Background()) })
	return func() (time.Duration, error) {
		m, n = n, m
		type got struct {
			l   *zklock.Lease
			err error
			at  time.Time
		}
		next := make(chan got, 1)
		go func() {
			l, err := m.Lock(b.Context())
			next <- got{l, err, time.Now()}
		}()
		time.Sleep(settle)
		began := time.Now()
		err := held.Unlock(b.Context())
		g := <-next
		if err == nil {
			err = g.err
		}
		held = g.l
		return g.at.Sub(began), err
	}
}
