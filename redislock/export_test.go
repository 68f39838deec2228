package redislock

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/boottime"
)

func WithSuspends(o ClientOptions, slept func() time.Duration) ClientOptions {
	o.clock = boottime.New(func(time.Time) time.Duration { return slept() })
	return o
}

func LoadQueueScripts(ctx context.Context, rdb redis.Scripter) error {
	for _, s := range []*script{exclusive.acquire, exclusive.release, exclusive.renew, exclusive.check, exclusive.pass} {
		if err := s.Load(ctx, rdb).Err(); err != nil {
			return err
		}
	}
	return nil
}

func Companion(name, what string) string { return companion(name, what) }

// A Runner runs one script.
type Runner func(ctx context.Context, rdb redis.Scripter, keys []string, args ...any) *redis.Cmd

func QueueScripts(several bool) map[string]Runner {
	k := exclusive
	if several {
		k = sharing
	}
	return runners(k.acquire, k.seize, drawToken, k.release, k.free, k.renew, k.check, k.pass, k.force)
}

func KeyScripts() map[string]map[string]Runner {
	return map[string]map[string]Runner{
		"poll":      runners(pollAcquire, pollRelease, pollRenew, deleteAndPublish),
		"pubsub":    runners(pubsubAcquire, pubsubRelease, pollRenew, deleteAndPublish),
		"reentrant": runners(reentrantAcquire, reentrantRelease, reentrantRenew, deleteAndPublish),
	}
}

func runners(scripts ...*script) map[string]Runner {
	all := make(map[string]Runner)
	for _, s := range scripts {
		all[s.op] = s.Run
	}
	return all
}

// ReadNotification returns a notification's waiter, token, and length of the grant.
func ReadNotification(text string) (to string, token uint64, span time.Duration, ok bool) {
	to, l, err := parseNotification(text)
	return to, l.token, l.span, err == nil
}

// Watch returns a dialer with health checks at that interval for the server of that name.
func Watch(c *Client, server string, interval, timeout time.Duration, dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return (&healthCheck{c, dial, server == byFailover, interval, timeout}).connect
}

const ByFailover = byFailover

// Mail counts the mailboxes of a client, the ones that it reads, and its connections for them.
type Mail struct{ Boxes, Heard, Readers int }

func MailOf(c *Client) Mail {
	c.mail.Lock()
	defer c.mail.Unlock()
	m := Mail{Boxes: len(c.mail.boxes), Readers: len(c.mail.readers)}
	for _, b := range c.mail.boxes {
		if b.reader != nil {
			m.Heard++
		}
	}
	return m
}

// HeardServerAt returns when the client last learned the server's clock.
func HeardServerAt(m *Mutex) time.Time {
	m.c.mail.Lock()
	defer m.c.mail.Unlock()
	b := m.mailbox()
	defer b.drop()
	return b.clock.sent
}

func CohortMayHandOver(m *Cohort, l *Lease) bool {
	return m.may(acquisition{l.joint.members()[0], 1, nil})
}

func Parts(l *Lease) int { return len(l.joint.members()) }

func CohortInARow(m *Cohort) int { return m.inARow }

func HoldMailboxes(c *Client) (release func()) {
	c.mail.Lock()
	return c.mail.Unlock
}

// Repeat repeats the request that acquired l, a shared lock's, and returns its token or 0.
func Repeat(ctx context.Context, l *Lease) (token int64, err error) {
	again := call{sharing.acquire, l.c.shared(l.name, Options{}, 1).keys, []any{l.renewal.args[0], 1000, 500, 0}}
	reply, err := again.run(ctx, l.c.rdb).Int64Slice()
	if err != nil {
		return 0, err
	}
	return reply[0], nil
}

// overLease returns an expired lease of 20 ms that nothing has ended.
func overLease(t *testing.T, c *Client, name string) *Lease {
	l, err := c.Mutex(name, Options{TTL: 20 * time.Millisecond}).acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	c.drop(l)
	time.Sleep(time.Until(l.until()))
	return l
}

// Stopped stops a process for longer than its lease before Lock returns, in each place.
var Stopped = map[string]func(t *testing.T, c *Client){
	"Lock":   stoppedLock,
	"Cohort": stoppedCohort,
}

const stoppedName = "locklab:{stopped}"

func stoppedLock(t *testing.T, c *Client) {
	m := c.Mutex(stoppedName, Options{})
	tries := 0
	l, err := c.await(t.Context(), stoppedName, 0, func(ctx context.Context) (*Lease, error) {
		if tries++; tries == 1 {
			return overLease(t, c, stoppedName), nil
		}
		return m.acquire(ctx, true)
	})
	requireAlive(t, l, err)
}

func stoppedCohort(t *testing.T, c *Client) {
	m := c.Cohort(stoppedName, CohortOptions{})
	m.turns.Try() // it has the lock, and a waiter to hand it to
	type got struct {
		l   *Lease
		err error
	}
	done := make(chan got, 1)
	go func() {
		l, err := m.Lock(t.Context())
		done <- got{l, err}
	}()
	for m.turns.Len() == 0 {
		time.Sleep(time.Millisecond)
	}
	last := overLease(t, c, stoppedName)
	if !m.turns.Serve(func() (acquisition, bool) { return acquisition{lease: last}, true }) {
		t.Fatal("there is no waiter")
	}
	g := <-done
	requireAlive(t, g.l, g.err)
}

// requireAlive expects a lease that can be unlocked.
func requireAlive(t *testing.T, l *Lease, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(l.until()); left <= 0 || l.Err() != nil { // not only Err, which Lock relies on
		t.Errorf("Lock returned a lease that was over: %v, until %v", l.Err(), left)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// BeginUnlock is Unlock until its lease has ended, without a request.
func BeginUnlock(l *Lease) {
	l.state.Store(stateUnlocked)
	l.finish(ErrReleased)
}

// CheckHandover checks the latest handover of m, and returns whether it will check it again.
func CheckHandover(m *Mutex) bool {
	m.check()
	return m.c.mail.boxes[m.keys[3]+m.c.id] != nil
}

func RevokeAll(c *Client) { c.revokeAll() }

// ShutdownOf reports whether Shutdown has begun, how many tasks it awaits, and its end.
func ShutdownOf(c *Client) (begun bool, tasks int, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closedErr() != nil, c.tasks, c.closed
}

// A Hook runs in place of each request, and may call next to send it.
type Hook func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

func (Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h(ctx, cmd, next) }
}
