package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/internal/zksession"
)

// curatorUnlockWait bounds Unlock. Curator itself retries for about as long.
const curatorUnlockWait = 10 * time.Second

type curatorClient struct {
	java   *javaPeer
	proc   *javaProcess
	recipe curatorRecipe
	path   string
	number string // the process's number for the client
	line   *line
	heard  chan struct{} // closed at the end of the process's messages
	closed sync.Once

	mu     sync.Mutex
	leases map[*adapt.Lease]int // held, by the numbers of their sessions
	lost   int                  // sessions up to this number have ended
	dead   error                // why all have ended
}

var _ harness.Remote = (*curatorClient)(nil)

func newCuratorClient(ctx context.Context, java *javaPeer, recipe curatorRecipe, at harness.Endpoint, key string) (_ harness.Remote, err error) {
	where, err := curatorServers(at)
	if err != nil {
		return nil, err
	}
	c := &curatorClient{java: java, recipe: recipe, path: "/locklab/" + key, heard: make(chan struct{}), leases: make(map[*adapt.Lease]int)}
	if c.proc, err = java.hire(ctx); err != nil {
		return nil, fmt.Errorf("%w (%w)", err, harness.ErrUnavailable)
	}
	dctx, cancel := context.WithTimeout(ctx, javaStart+java.answer) // longer than the process takes to report that no server answers
	defer cancel()
	var answer string
	c.line, answer, err = c.proc.dial(dctx, "client", append(where, "recipe", recipe.name, "mode", cmp.Or(recipe.mode, "object"), "path", c.path,
		"warmup_ms", strconv.FormatInt(java.warmUp.Milliseconds(), 10))...)
	if err != nil {
		if !errors.As(err, new(*refusal)) {
			c.proc.suspect()
		}
		java.dismiss(c.proc)
		return nil, fmt.Errorf("%w (%w)", err, harness.ErrUnavailable)
	}
	c.number = strings.TrimPrefix(answer, "ok ")
	go c.listen()
	return c, nil
}

// curatorServers returns the Java process's options for the servers.
func curatorServers(at harness.Endpoint) ([]string, error) {
	if at.Kind != harness.KindZooKeeper || len(at.Addrs) == 0 {
		return nil, fmt.Errorf("peers: %w: Curator needs a ZooKeeper ensemble, not %q", harness.ErrUsage, at.Kind)
	}
	where := []string{}
	if at.TLS != nil {
		if at.RootsFile == "" || len(at.TLS.Certificates) > 0 {
			return nil, fmt.Errorf("peers: %w: Curator's client speaks TLS with servers whose certificates are in a file, and has none of its own", harness.ErrUsage)
		}
		where = []string{"trust", at.RootsFile}
	}
	session := cmp.Or(at.SessionTimeout, zksession.DefaultSessionTimeout)
	return append(where,
		"connect", strings.Join(at.Addrs[0], ","),
		"session_ms", strconv.FormatInt(session.Milliseconds(), 10),
		"wait_ms", strconv.FormatInt(javaStart.Milliseconds(), 10),
		"user", at.Username, "password", at.Password), nil
}

// listen ends the leases of lost sessions, and all at the end of the process's messages.
func (c *curatorClient) listen() {
	defer close(c.heard)
	for {
		text, err := c.line.read()
		if err != nil || text == "closed" {
			c.end(0, errors.New("the process of Curator has ended"))
			return
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(text, "lost ")); err == nil {
			c.end(n, nil)
		}
	}
}

func (c *curatorClient) end(lost int, dead error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost, c.dead = max(c.lost, lost), dead
	for l, epoch := range c.leases {
		c.endIfLost(l, epoch)
	}
}

// endIfLost ends l if its session is over. The caller holds c.mu.
func (c *curatorClient) endIfLost(l *adapt.Lease, epoch int) {
	switch {
	case c.dead != nil:
		l.Lose(c.dead)
	case epoch <= c.lost:
		l.Lose(errors.New("the session is lost (ConnectionState.LOST)"))
	default:
		return
	}
	delete(c.leases, l)
}

func (c *curatorClient) hold(l *adapt.Lease, epoch int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases[l] = epoch
	c.endIfLost(l, epoch)
}

func (c *curatorClient) forget(l *adapt.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, l)
}

func (c *curatorClient) Join(ctx context.Context, i int) (harness.Session, error) {
	s := &curatorSession{c: c, number: i}
	if err := s.dial(ctx); err != nil {
		return nil, err
	}
	if c.recipe.readWrite {
		return curatorRWSession{s}, nil
	}
	return s, nil
}

// Close ends the CuratorFramework. A process that does not answer is killed. Calling it twice is
// safe: a second dismissal would end the process under its other users.
func (c *curatorClient) Close() error {
	c.closed.Do(c.close)
	return nil
}

func (c *curatorClient) close() {
	c.line.conn.SetDeadline(time.Now().Add(c.proc.answer))
	err := c.line.write("close")
	<-c.heard
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line.Close()
	if err != nil && !c.proc.gone() {
		c.proc.suspect()
	}
	c.java.dismiss(c.proc)
}

type curatorSession struct {
	c       *curatorClient
	number  int
	request int
	line    atomic.Pointer[line] // nil after giveUp or Close
}

var _ harness.TrySession = (*curatorSession)(nil)

func (s *curatorSession) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.c.proc.answer)
	defer cancel()
	l, _, err := s.c.proc.dial(ctx, "worker", "client", s.c.number, "worker", strconv.Itoa(s.number))
	s.line.Store(l)
	return err
}

func (s *curatorSession) Lock(ctx context.Context) (harness.Lease, error) {
	return s.acquire(ctx, "lock", -1)
}

// TryLock makes a ticket, looks, and removes it if it is not first: Curator with a timeout of 0.
func (s *curatorSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return s.acquire(ctx, "lock", 0)
}

type curatorRWSession struct{ *curatorSession }

var _ harness.RWSession = curatorRWSession{}

func (s curatorRWSession) RLock(ctx context.Context) (harness.Lease, error) {
	return s.acquire(ctx, "rlock", -1)
}

var unlockVerbs = map[string]string{"lock": "unlock", "rlock": "runlock"}

// acquire requests the lock and waits for wait milliseconds at most, unless negative.
func (s *curatorSession) acquire(ctx context.Context, verb string, wait int) (harness.Lease, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("peers: %s %s: %w", verb, s.c.path, ctx.Err())
	}
	if s.line.Load() == nil {
		if err := s.dial(ctx); err != nil {
			return nil, err
		}
	}
	s.request++
	answer, err := s.interruptible(ctx, fmt.Sprintf("%s %d %d", verb, s.request, wait))
	if epoch, ok := strings.CutPrefix(answer, "ok "); ok {
		return newCuratorLease(s, unlockVerbs[verb], epoch)
	}
	if answer == "timeout" {
		return nil, fmt.Errorf("peers: %s: %w", s.c.path, harness.ErrNotAcquired)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		err = fmt.Errorf("unexpected answer %q", answer)
	}
	return nil, fmt.Errorf("peers: %s %s: %w", verb, s.c.path, err)
}

// interruptible sends a request that ends early if ctx does.
func (s *curatorSession) interruptible(ctx context.Context, text string) (string, error) {
	line, done := s.line.Load(), make(chan struct{})
	if line == nil {
		return "", net.ErrClosed
	}
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		line.conn.SetReadDeadline(time.Now().Add(s.c.proc.answer))
		s.c.line.write(fmt.Sprintf("cancel %d %d", s.number, s.request))
	})
	answer, err := line.ask(text)
	if !stop() {
		<-done
		line.conn.SetReadDeadline(time.Time{})
	}
	if err != nil && !errors.As(err, new(*refusal)) {
		s.giveUp()
	}
	return answer, err
}

// giveUp closes a connection without an answer; the process releases the thread's locks.
func (s *curatorSession) giveUp() {
	s.Close()
	if !s.c.proc.gone() {
		s.c.proc.suspect()
	}
}

func (s *curatorSession) Close() error {
	if line := s.line.Swap(nil); line != nil {
		line.Close()
	}
	return nil
}

// newCuratorLease returns the lease of a lock that the session's thread got in that epoch, the
// number of Curator's session. The request verb releases it.
func newCuratorLease(s *curatorSession, verb, epoch string) (l *adapt.Lease, err error) {
	n, err := strconv.Atoi(epoch)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	granted := s.line.Load()
	l = adapt.NewLease(context.Background(), time.Time{}, func(context.Context) (bool, error) {
		s.c.forget(l)
		err := s.release(granted, verb)
		return err == nil, err
	})
	s.c.hold(l, n)
	return l, nil
}

// release asks the thread to unlock, even a lost lock, because Curator counts.
func (s *curatorSession) release(granted *line, verb string) error {
	if granted == nil || s.line.Load() != granted {
		return errors.New("the connection to its thread was given up")
	}
	granted.conn.SetReadDeadline(time.Now().Add(curatorUnlockWait))
	answer, err := granted.ask(verb)
	switch {
	case errors.As(err, new(*refusal)):
	case err != nil:
		s.giveUp()
		return err
	case answer != "ok":
		err = fmt.Errorf("unexpected answer %q", answer)
	}
	granted.conn.SetReadDeadline(time.Time{})
	return err
}
