package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var connScenarios = table(Scenario{
	Family: "Redis message lost or late", Locks: redisLocks, Deadline: 20 * time.Second, Tries: 200,
}, []Scenario{
	{Name: "acquire-reply-lost", Takes: 8, Short: true, Prompt: TTL / 2,
		Question: "Is the lock left without a holder when the reply to an acquire is lost?",
		Fault:    "the server executes the first request of a TryLock, and then of a Lock, and its reply is lost with the connection (RST); another client asks for the lock afterwards",
		Source:   "go-redis retries three times by default, and SET NX then meets its own key",
		Expect: []Expectation{
			{"redis-token", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "what was popped is gone with the reply, and nothing brings it back"},
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "the key has no time to live before the second request, which is not sent"},
			{"redis-setnx", []oracle.Anomaly{oracle.Stall, oracle.Misled}, "the client library repeats SET NX, which meets its own key and says that the lock is taken"},
			{"rueidislock.*", []oracle.Anomaly{oracle.Stall, oracle.Misled}, "the client library repeats the script, which meets its own key and says that the lock is taken"},
			{"bsm-redislock-.*", []oracle.Anomaly{oracle.Stall, oracle.Misled}, "the error is returned and nothing is taken back: the key stays for its time to live"},
			{".*", nil, "the request can be repeated, or is taken back"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "orphans", Quantile: 1, Limit: 0, Text: "none"}}},
		Try:  loseReplies,
	},
	{Name: "release-reply-lost", Takes: 4, Prompt: 2 * TTL,
		Question: "Is the lock free, and no other client's lock freed, when the reply to a release is lost?",
		Fault:    "the server executes the last request of a release, and its reply is lost with the connection (RST), while other clients wait",
		Source:   "Redisson 4.7.0 writes the outcome of each release into a key for this case",
		Tests:    []result.Guarantee{result.Fencing},
		Expect: []Expectation{
			{"redis-token", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken}, "the element is pushed once more if the client repeats the request"},
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "a waiter that asks how long the lock is taken just when it is freed takes the answer for never (B21)"},
			{".*", nil, "to release twice changes nothing"},
		},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			w, wire := t.wired(ctx, hosts[0], s)
			for range 3 {
				t.plain(ctx, hosts[1], s).Loop(ctx, ordinary)
			}
			for range 5 {
				wait, cancel := context.WithTimeout(ctx, 2*TTL)
				err := w.Acquire(wait, 2*TTL)
				cancel()
				if err != nil {
					return // the history has the reason
				}
				remove, _ := wire.inject(faultproxy.Fault{Match: about(s, "get", "pttl")})
				s.Fault("reply to the release lost")
				w.Release(ctx)
				remove()
			}
			t.Sleep(ctx, TTL/2)
		}),
	},
})

const (
	redisLocks = "redis-.*|redsync.*|bsm-redislock-.*|rueidislock.*"

	// redisKinds has one lock of each kind: locks that differ only in their pauses
	// would overload the machine when time matters.
	redisKinds = "redis-(queue|reentrant|redisson12|fair-redisson|poll-5ms|pubsub|unsafe|setnx|rw|semaphore|multi|redlock|cohort|token)|redsync-1ms|bsm-redislock-1ms|rueidislock.*"

	redisRecommended = "redis-(queue|reentrant|rw|semaphore|multi|cohort)"
)

func about(s *Subject, but ...string) func(faultproxy.Message) bool {
	return func(m faultproxy.Message) bool {
		words, _ := m.Body.([]string)
		return !slices.Contains(but, m.Op) && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, s.Key) })
	}
}

// A wire is the proxies between a client and its servers.
type wire []*faultproxy.Proxy

func (t *Try) wired(ctx context.Context, h *Host, s *Subject) (*Worker, wire) {
	at, proxies := t.Through(must(t.At(ctx, s.Variant)))
	return h.Open(ctx, s, at), proxies
}

func (t *Try) plain(ctx context.Context, h *Host, s *Subject) *Worker {
	return h.Open(ctx, s, must(t.At(ctx, s.Variant)))
}

func (t *Try) holders(ctx context.Context, h *Host, s *Subject) []*Worker {
	return h.openEach(ctx, s, must(t.At(ctx, s.Variant)))
}

func (w wire) each(f func(p *faultproxy.Proxy)) {
	for _, p := range w {
		f(p)
	}
}

func (w wire) partition(on bool) {
	w.each(func(p *faultproxy.Proxy) { p.Partition(on) })
}

// inject adds a fault to each server's proxy. remove removes the faults that have not hit
// yet. hit waits until one has, and fails if none does.
func (w wire) inject(f faultproxy.Fault) (remove, hit func()) {
	var faults []*faultproxy.Injection
	for _, p := range w {
		faults = append(faults, p.Inject(f))
	}
	remove = func() {
		for _, i := range faults {
			i.Remove()
		}
	}
	hit = func() {
		end := time.After(TTL / 2) // a client may react before the hit is recorded
		if !slices.ContainsFunc(faults, func(i *faultproxy.Injection) bool {
			select {
			case <-i.Done():
				return true
			case <-end:
				return false
			}
		}) {
			check(errNoHit)
		}
	}
	return remove, hit
}

var errNoHit = errors.New("chaos: the request that was to be hit was not sent")

// warm makes workers lock and unlock once, so that the servers have the scripts.
func warm(ctx context.Context, ws ...*Worker) error {
	for _, w := range ws {
		if err := errors.Join(w.Acquire(ctx, 0), w.Release(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// loseReplies loses one reply of an attempt: once of TryLock, once of Lock. The client
// releases any grant. Then another client asks.
var loseReplies = perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
	w, wire := t.wired(ctx, hosts[0], s)
	others := t.holders(ctx, hosts[1], s)
	check(warm(ctx, append(others, w)...))
	orphans := 0
	for i, acquire := range []func(context.Context, time.Duration) error{w.TryAcquire, w.Acquire} {
		remove, hit := wire.inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: about(s)})
		s.Fault("%v", faultproxy.LoseReply)
		err := acquire(ctx, TTL/2)
		remove()
		switch {
		case err == nil:
			w.Release(ctx)
		case i == 0:
			hit()
		}
		if !allGet(ctx, others) {
			orphans++
		}
	}
	s.Figure("orphans", "", float64(orphans))
})

// acquireAll makes each of ws acquire its lock.
func acquireAll(ctx context.Context, ws []*Worker) {
	for _, w := range ws {
		check(w.Acquire(ctx, 0))
	}
}

// releaseAll makes each of ws release its lock. Their histories have the errors.
func releaseAll(ctx context.Context, ws []*Worker) {
	for _, w := range ws {
		w.Release(ctx)
	}
}

// allGet reports whether all clients could acquire a lock, as many together as it permits.
func allGet(ctx context.Context, ws []*Worker) bool {
	began := time.Now()
	got := 0
	for _, w := range ws {
		if w.Acquire(ctx, 3*TTL) == nil {
			got++
		}
	}
	free := got == len(ws) && time.Since(began) < TTL/2
	releaseAll(ctx, ws[:got])
	return free
}
