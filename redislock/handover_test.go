package redislock_test

import (
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

// BenchmarkHandover measures the time from the call of Unlock in one process to the return of
// Lock in another. It compares that with the server and the client library without a lock:
//
//   - push: RPUSH to a list on which the other blocks, from the call to the return of the
//     BLPOP. No handover can be faster.
//   - ping: PING, from the call to its return, by the client that has just pushed.
//   - floor: ping + push, the minimum for a lock that asks before it hands over. Redis does
//     both in one script.
//
// The three alternate, and so do the directions. x-push is the median handover divided by the
// median push, x-floor by the median floor. x-q25 and x-q75 are the quartiles of the ratio of
// handover and push in one turn.
func BenchmarkHandover(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindRedis)
	c, s := newBenchPeer(b, at), newBenchPeer(b, at)
	key := newKey()
	m := [2]*redislock.Mutex{c.Mutex(key, redislock.Options{}), s.Mutex(key, redislock.Options{})}
	links := [2]*peer{c, s}
	var locks, pushes, pings []time.Duration
	held, err := m[0].Lock(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		next := m[i%2]
		done := make(chan got, 1)
		go func() {
			l, err := next.Lock(b.Context())
			done <- got{l, err, time.Now()}
		}()
		for waitingFor(b, links[0].link, key) == 0 {
		}
		time.Sleep(200 * time.Microsecond) // it listens
		began := time.Now()
		held.Unlock(b.Context())
		came := <-done
		if came.err != nil {
			b.Fatal(came.err)
		}
		held, locks = came.l, append(locks, came.at.Sub(began))
		pushes = append(pushes, push(b, links[(i+1)%2], links[i%2], key+":floor"))
		pings = append(pings, ping(b, links[(i+1)%2]))
	}
	held.Unlock(b.Context())
	ratios := make([]float64, len(locks))
	for i := range locks {
		ratios[i] = float64(locks[i]) / float64(pushes[i])
	}
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	lock, push, ping := median(locks), median(pushes), median(pings)
	b.ReportMetric(lock, "handover-p50-ns")
	b.ReportMetric(push, "push-p50-ns")
	b.ReportMetric(ping, "ping-p50-ns")
	b.ReportMetric(lock/push, "x-push")
	b.ReportMetric(lock/(ping+push), "x-floor")
	b.ReportMetric(quantile(ratios, 0.25), "x-q25")
	b.ReportMetric(quantile(ratios, 0.75), "x-q75")
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(quantile(times, 0.5))
}

func ping(b *testing.B, p *peer) time.Duration {
	began := time.Now()
	if err := p.link.Ping(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

func quantile[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1))] }

func push(b *testing.B, from, to *peer, key string) time.Duration {
	done := make(chan time.Time, 1)
	go func() {
		to.mail.BLPop(b.Context(), time.Second, key)
		done <- time.Now()
	}()
	time.Sleep(400 * time.Microsecond) // it listens
	began := time.Now()
	from.link.RPush(b.Context(), key, "1 2 1000000000000000 500")
	return (<-done).Sub(began)
}

func waitingFor(b *testing.B, c *link, key string) int64 {
	n, err := c.ZCard(b.Context(), key+":~queue").Result()
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func newBenchPeer(b *testing.B, at harness.Endpoint) *peer {
	p := &peer{link: dial(b, at), mail: dial(b, at)}
	p.Client = redislock.NewClient(p.link.Client, redislock.ClientOptions{Blocking: p.mail.Client})
	b.Cleanup(func() { p.Client.Close() })
	return p
}
