package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/adapt"
	"locklab/internal/faultproxy"
	wireredis "locklab/internal/wire/redis"
	"locklab/redislock/lab"
)

type step struct {
	op   string
	when string // one of the moments
}

const (
	alone  = "alone"   // Lock of a free lock
	behind = "behind"  // Lock of a lock that another client holds
	leave  = "release" // Unlock
)

var (
	takeSteps   = []step{{op: "evalsha", when: alone}, {op: "evalsha", when: behind}}
	scriptSteps = append(takeSteps[:2:2], step{op: "evalsha", when: leave})
	queueSteps  = append(scriptSteps[:3:3], step{op: "blpop", when: behind})
	topicSteps  = append(scriptSteps[:3:3], step{op: "subscribe", when: behind})
)

var steps = map[string][]step{
	"redis-queue":     queueSteps,
	"redis-reentrant": topicSteps,
	"redis-poll":      scriptSteps,
	"redis-pubsub":    topicSteps,
	"redis-rw":        queueSteps,
	"redis-semaphore": {{op: "evalsha", when: alone}, {op: "evalsha", when: leave}}, // with a free permit no client is behind
	"redis-multi":     queueSteps,
	"redis-redlock":   scriptSteps, // on one of its servers
	"redis-cohort":    queueSteps,
}

// abreast is the number of concurrent trials: they wait most of the time.
const abreast = 8

// TestSteps loses the connection at every step of every lock's protocol, before the server gets
// the request and after it has executed it.
func TestSteps(t *testing.T) {
	at := locktest.Endpoints(t, harness.KindRedis, locktest.Servers(lab.Suite, harness.KindRedis))
	trials := make(map[string]func(*testing.T))
	for _, v := range lab.Suite {
		if !v.Status.Competes() {
			continue // kept for its faults
		}
		if v.Name == "redis-token" {
			continue // a lost reply loses its token: TestTokenSteps
		}
		if otherPauses(v) {
			continue
		}
		if len(steps[v.Name]) == 0 {
			t.Errorf("%s has no line in steps: where is its connection to be lost?", v.Name)
		}
		for _, s := range steps[v.Name] {
			for _, do := range []faultproxy.Action{faultproxy.LoseRequest, faultproxy.LoseReply} {
				trials[s.name(v, do)] = func(t *testing.T) { s.lose(t, at, v, do) }
			}
		}
	}
	runConcurrently(t, abreast, trials)
}

func (s step) name(v *harness.Variant, do faultproxy.Action) string {
	return fmt.Sprintf("%s/%s/%s/%s", v.Name, s.when, s.op, do)
}

func (s step) lose(t *testing.T, at harness.Endpoint, v *harness.Variant, do faultproxy.Action) {
	if lacks := v.Traits.Lacks(at); lacks != "" {
		t.Skip(lacks)
	}
	tr := &trial{at: at, v: v, step: s, do: do, patience: patience}
	expectNoError(t, tr.run(t.Context()))
}

// A trial is a fault of one client of a lock while another contends.
type trial struct {
	at harness.Endpoint
	v  *harness.Variant
	step
	do       faultproxy.Action
	patience time.Duration

	key    string
	p      *faultproxy.Proxy
	hit    *faultproxy.Injection
	a, b   harness.Session // a loses its connection, b does not
	see    *redis.Client
	inside atomic.Int32 // holders
}

func (tr *trial) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, tr.patience)
	defer cancel()
	tr.key = "steps-" + rand.Text()
	if tr.see, _, err = wireredis.Connect(tr.at); err != nil {
		return err
	}
	defer tr.see.Close()
	if tr.p, err = faultproxy.New(tr.at.Addrs[0][0], faultproxy.Redis, faultproxy.Options{}); err != nil {
		return err
	}
	defer tr.p.Close()
	through := tr.at
	through.Addrs = append([][]string{{tr.p.Addr()}}, tr.at.Addrs[1:]...)
	var ends []func() error
	for _, join := range []struct {
		at harness.Endpoint
		s  *harness.Session
	}{{through, &tr.a}, {tr.at, &tr.b}} {
		r, err := tr.v.Remote(ctx, join.at, tr.key)
		if err != nil {
			return err
		}
		if *join.s, err = r.Join(ctx, len(ends)); err != nil {
			return errors.Join(err, r.Close())
		}
		ends = append(ends, func() error { return errors.Join((*join.s).Close(), r.Close()) })
	}
	err = tr.timeline(ctx)
	for _, end := range ends {
		err = errors.Join(err, end())
	}
	return err
}

// timeline: a takes the lock, behind b or alone, with a fault on the way; then both continue.
func (tr *trial) timeline(ctx context.Context) error {
	var first harness.Lease
	if tr.when == behind {
		var err error
		if first, err = tr.enter(ctx, tr.b); err != nil {
			return fmt.Errorf("before the fault: %w", err)
		}
	}
	if tr.when != leave {
		tr.inject()
	}
	got := make(chan error, 1)
	go func() {
		l, err := tr.enter(ctx, tr.a)
		if err == nil {
			if tr.when == leave {
				tr.inject()
			}
			err = tr.exit(ctx, l)
		}
		got <- err
	}()
	if first != nil {
		select {
		case <-tr.hit.Done():
			time.Sleep(50 * time.Millisecond) // for more attempts
		case <-time.After(2 * time.Second): // the reply to a blocking pop comes with the release
		case <-ctx.Done():
		}
		if err := tr.exit(ctx, first); err != nil {
			return errors.Join(err, <-got)
		}
	}
	if err := <-got; err != nil {
		return err
	}
	select {
	case <-tr.hit.Done():
	case <-time.After(time.Second): // the lock does not wait for it
		return fmt.Errorf("the trial shows nothing: no %s was lost", tr.op)
	}
	return tr.after(ctx)
}

func (tr *trial) inject() {
	tr.hit = tr.p.Inject(faultproxy.Fault{Do: tr.do, Match: faultproxy.Op(tr.op)})
}

func (tr *trial) after(ctx context.Context) error {
	var g errgroup.Group
	for _, s := range []harness.Session{tr.a, tr.b} {
		g.Go(func() error {
			for range 5 {
				l, err := tr.enter(ctx, s)
				if err == nil {
					time.Sleep(2 * time.Millisecond)
					err = tr.exit(ctx, l)
				}
				if err != nil {
					return fmt.Errorf("after the fault: %w", err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for {
		left, err := tr.left(ctx)
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no client wants the lock, and there is still %q", left)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (tr *trial) left(ctx context.Context) (keys []string, err error) {
	all := tr.see.Scan(context.WithoutCancel(ctx), 0, "*"+tr.key+"*", 1000).Iterator()
	for all.Next(context.WithoutCancel(ctx)) {
		if !strings.HasSuffix(all.Val(), "~token") {
			keys = append(keys, all.Val())
		}
	}
	return keys, all.Err()
}

func (tr *trial) enter(ctx context.Context, s harness.Session) (harness.Lease, error) {
	l, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	if n := tr.inside.Add(1); n > int32(max(1, tr.v.Traits.Permits)) {
		return nil, fmt.Errorf("%d hold the lock at once", n)
	}
	return l, nil
}

// exit unlocks l. A loss is correct after a lost reply, and if the lease was over before the answer.
func (tr *trial) exit(ctx context.Context, l harness.Lease) error {
	tr.inside.Add(-1)
	until, ends := l.Deadline()
	err := l.Unlock(ctx)
	unsure := tr.do == faultproxy.LoseReply && tr.when == leave || ends && time.Now().After(until)
	if err != nil && !(unsure && errors.Is(err, harness.ErrNotHeld)) {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

// TestStepsLate: a trial accepts a loss only after the deadline of the lease.
func TestStepsLate(t *testing.T) {
	for left, want := range map[time.Duration]bool{-time.Second: true, time.Hour: false} {
		l := adapt.NewLease(t.Context(), time.Now().Add(left), func(context.Context) (bool, error) { return false, nil })
		if err := new(trial).exit(t.Context(), l); (err == nil) != want {
			t.Errorf("a loss %v before the deadline: %v", left, err)
		}
	}
}

// TestStepsReject: the trials reject locks with each of the faults that they look for.
func TestStepsReject(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, c := range []struct {
		name string
		naive
		step
		want string
	}{
		{"no fault of the lock", naive{}, step{op: "ping", when: alone}, "shows nothing"},
		{"a lock for no client", naive{open: true}, step{op: "set", when: behind}, "at once"},
		{"a lost reply leaves an orphan", naive{}, step{op: "set", when: alone}, "deadline"},
		{"a key is left behind", naive{littering: true}, step{op: "set", when: behind}, "still"},
		{"a lost reply to the release", naive{}, step{op: "del", when: leave}, "unlock: EOF"},
	} {
		v := &harness.Variant{Name: "naive", Remote: func(_ context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
			client, _, err := wireredis.Connect(at)
			n := c.naive
			n.client, n.key = client, "locklab:{"+key+"}"
			return n, err
		}}
		tr := &trial{at: at, v: v, step: c.step, do: faultproxy.LoseReply, patience: time.Second}
		err := tr.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
		tr.see = dialServer(t, at).client
		left, err := tr.left(t.Context())
		if err == nil && len(left) > 0 {
			err = tr.see.Del(t.Context(), left...).Err()
		}
		expectNoError(t, err)
	}
}

type naive struct {
	client          *redis.Client
	key             string
	open, littering bool
}

func (n naive) Join(context.Context, int) (harness.Session, error) { return naiveSession{n}, nil }

type naiveSession struct{ naive }

func (n naive) Close() error { return n.client.Close() }

func (naiveSession) Close() error { return nil }

func (n naiveSession) Lock(ctx context.Context) (harness.Lease, error) {
	for ; ; time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		taken, err := n.client.SetNX(ctx, n.key, rand.Text(), time.Minute).Result()
		if n.littering {
			n.client.Set(ctx, n.key+"-litter", "x", time.Minute)
		}
		if err == nil && (taken || n.open) {
			return adapt.NewLease(context.Background(), time.Time{}, func(ctx context.Context) (bool, error) { return true, n.client.Del(ctx, n.key).Err() }), nil
		}
	}
}
