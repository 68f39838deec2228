package measure_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func lock(t *testing.T, name string) *harness.Variant {
	t.Helper()
	for _, v := range catalog.All() {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no lock %s", name)
	return nil
}

type count struct {
	lock, unlock, handover float64
	queue                  float64    // 0 is not checked
	requests               [2]float64 // alone, in a handover; 0 for a herd, because some may come later
	polls                  bool
	delayed                bool // compared with a delay
}

// counts follow the protocols of the locks, as locklab trace shows them.
var counts = map[string]count{
	"redis-queue":     {lock: 1, unlock: 1, queue: 1, handover: 1, requests: [2]float64{2, 1}, delayed: true},
	"redis-token":     {lock: 1, unlock: 1, queue: 0.5, handover: 1, requests: [2]float64{2, 1}},
	"redis-pubsub":    {lock: 1, unlock: 1, handover: 2, requests: [2]float64{2, 0}, delayed: true},
	"redis-reentrant": {lock: 1, unlock: 1, queue: 1, handover: 2, requests: [2]float64{2, 0}},
	"redsync":         {lock: 1, unlock: 1, polls: true, requests: [2]float64{2, 0}},
	"redis-redlock":   {lock: 1, unlock: 1, polls: true, requests: [2]float64{6, 0}},
	"redis-spin":      {lock: 1, unlock: 1, polls: true, requests: [2]float64{2, 0}},
	"zk-handoff":      {lock: 1, unlock: 1, queue: 2, handover: 1, requests: [2]float64{2, 1}, delayed: true},
	"zk-fair":         {lock: 2, unlock: 1, queue: 3, handover: 2, requests: [2]float64{3, 2}, delayed: true},
	"zk-poll":         {lock: 2, unlock: 1, polls: true, requests: [2]float64{3, 0}},
}

// TestCount compares counts with the proxy's delay: k trips take k delays and little more.
func TestCount(t *testing.T) {
	at := map[string]harness.Endpoint{harness.KindRedis: locktest.Endpoints(t, harness.KindRedis, 3), harness.KindZooKeeper: locktest.Endpoint(t, harness.KindZooKeeper)}
	for name, want := range counts {
		t.Run(name, func(t *testing.T) {
			v := lock(t, name)
			at := at[v.Traits.Needs]
			if why := v.Traits.Lacks(at); why != "" {
				t.Skip(why)
			}
			leaktest.All(t)
			got, err := measure.CountTrips(t.Context(), v, at, "causal-"+name)
			if err != nil {
				t.Fatal(err)
			}
			if got.Lock.RoundTrips() != want.lock || got.Unlock.RoundTrips() != want.unlock || got.Lock.Requests+got.Unlock.Requests != want.requests[0] {
				t.Errorf("alone %+v and %+v, want %+v", got.Lock, got.Unlock, want)
			}
			b := got.Behind
			if b == nil || b.Polls != want.polls || want.queue > 0 && b.Queue.RoundTrips() != want.queue ||
				b.Handover.RoundTrips() != want.handover || want.requests[1] > 0 && b.Handover.Requests != want.requests[1] {
				t.Fatalf("behind others %+v, want %+v", b, want)
			}
			if want.delayed {
				delayed(t, v, at, got)
			}
		})
	}
}

const delay = 20 * time.Millisecond

func distant(t *testing.T, v *harness.Variant, at harness.Endpoint, i int) harness.Session {
	through := at
	through.Addrs = nil
	for _, list := range at.Addrs {
		p, err := faultproxy.New(list[0], faultproxy.Unread, faultproxy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		p.Delay(faultproxy.Request, delay/2)
		p.Delay(faultproxy.Reply, delay/2)
		through.Addrs = append(through.Addrs, []string{p.Addr()})
	}
	r, err := v.Remote(t.Context(), through, "causal-delayed-"+v.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s, err := r.Join(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A least is the shortest observed time of a leg, in delays.
type least struct {
	what string
	leg  harness.Leg
	took float64
}

func (l *least) add(d time.Duration) { l.took = min(l.took, float64(d)/float64(delay)) }

func (l *least) seen() bool { return l.took < l.leg.RoundTrips()+0.5 }

// delayed plays the lock at a distance until each leg takes its counted time, on a busy
// machine in several tries; half an additional trip never passes.
func delayed(t *testing.T, v *harness.Variant, at harness.Endpoint, trips *harness.Trips) {
	sessions := []harness.Session{distant(t, v, at, 0), distant(t, v, at, 1)}
	alone := &least{"an acquisition alone", trips.Lock, math.Inf(1)}
	release := &least{"a release behind others", trips.Behind.Unlock, math.Inf(1)}
	handover := &least{"a hand-over", trips.Behind.Handover, math.Inf(1)}
	all := []*least{alone, release, handover}
	for n := 0; n < 40 && !(alone.seen() && release.seen() && handover.seen()); n++ {
		a, b := sessions[n%2], sessions[1-n%2]
		began := time.Now()
		held, err := a.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		granted := make(chan error, 1)
		var next harness.Lease
		var passed time.Time
		go func() {
			var err error
			next, err = b.Lock(context.WithoutCancel(t.Context()))
			passed = time.Now()
			granted <- err
		}()
		time.Sleep(4 * delay) // longer than any client queues
		began = time.Now()
		err = held.Unlock(t.Context())
		done := time.Now()
		if err := errors.Join(err, <-granted); err != nil {
			t.Fatal(err)
		}
		if n > 1 { // connections are open, scripts are loaded
			alone.add(took)
			release.add(done.Sub(began))
			handover.add(passed.Sub(began))
		}
		if err := next.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range all {
		if l.took < l.leg.RoundTrips() || !l.seen() {
			t.Errorf("%s took %.2f delays at the least, and was counted as %v round trips", l.what, l.took, l.leg.RoundTrips())
		}
	}
}

func TestCountRefuses(t *testing.T) {
	v := lock(t, "redis-queue")
	at := harness.Endpoint{Kind: "paper", Addrs: [][]string{{"127.0.0.1:1"}}}
	if _, err := measure.CountTrips(t.Context(), v, at, "x"); !errors.Is(err, harness.ErrUnavailable) {
		t.Errorf("a server of another kind: %v", err)
	}
	at.Kind = harness.KindRedis
	if _, err := measure.CountTrips(t.Context(), v, at, "x"); err == nil {
		t.Error("a server that is not there is counted")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := measure.CountTrips(ctx, v, locktest.Endpoint(t, harness.KindRedis), "x"); err == nil {
		t.Error("a dry run that was interrupted is counted")
	}
}
