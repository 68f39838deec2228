package peers_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	wireredis "locklab/internal/wire/redis"
	"locklab/peers"
)

const redisPatience = 20 * time.Second

type redisPeer struct {
	name    string
	alone   uint64 // commands of an acquisition and its release
	again   uint64 // maximum of additional commands: it is notified of its own writes, and asks twice after 20 ms
	refused uint64 // commands of an attempt that fails
	renews  bool   // the key, while the lock is held
	told    bool   // is notified at once that its key has changed
	sleeps  bool   // may sleep although the lock is free
}

var redisPeers = []redisPeer{
	{name: "redsync", alone: 2, refused: 2},
	{name: "redsync-1ms", alone: 2, refused: 2},
	{name: "bsm-redislock-100ms", alone: 2, refused: 1},
	{name: "bsm-redislock-1ms", alone: 2, refused: 1},
	{name: "bsm-redislock-exp", alone: 2, refused: 1},
	{name: "rueidislock", alone: 2, refused: 1, renews: true, told: true, sleeps: true},
	{name: "rueidislock-majority", alone: 6, again: 3, refused: 1, renews: true, told: true},
	{name: "rueidislock-poll", alone: 2, again: 3, refused: 1, renews: true},
}

// TestRedisPeers checks the adapters' additions and the peers' documented behaviour.
func TestRedisPeers(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, p := range redisPeers {
		t.Run(p.name, func(t *testing.T) {
			for name, run := range map[string]func(*redisStage){
				"commands":      (*redisStage).commands,
				"time to live":  (*redisStage).timeToLive,
				"key removed":   (*redisStage).keyRemoved,
				"patience":      (*redisStage).patience,
				"no use":        (*redisStage).refusals,
				"ends with ctx": (*redisStage).connectEnds,
				"nothing left":  (*redisStage).nothingLeft,
			} {
				t.Run(name, func(t *testing.T) {
					leaktest.All(t)
					run(&redisStage{T: t, redisPeer: p, at: at, key: newKey()})
				})
			}
		})
	}
	for _, v := range peers.Suite {
		if v.Traits.Needs == harness.KindRedis && !slices.ContainsFunc(redisPeers, func(p redisPeer) bool { return p.name == v.Name }) {
			t.Errorf("%s is not in the table", v.Name)
		}
	}
}

type redisStage struct {
	*testing.T
	redisPeer
	at  harness.Endpoint
	key string
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(redisPatience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", redisPatience, what)
		}
	}
}

func (s *redisStage) join() (harness.Remote, harness.Session) {
	s.Helper()
	remote, err := variant(s.name).Remote(s.Context(), s.at, s.key)
	requireNoError(s, err)
	session, err := remote.Join(s.Context(), 0)
	requireNoError(s, err)
	s.Cleanup(func() { requireNoError(s, errors.Join(session.Close(), remote.Close())) })
	return remote, session
}

func (s *redisStage) unlock(l harness.Lease) {
	s.Helper()
	requireNoError(s, l.Unlock(s.Context()))
}

func (s *redisStage) see() *redis.Client {
	s.Helper()
	client, _, err := wireredis.Connect(s.at)
	requireNoError(s, err)
	s.Cleanup(func() { client.Close() })
	return client
}

func (s *redisStage) keys() []string {
	if !strings.HasPrefix(s.name, "rueidis") {
		return []string{"locklab:" + s.key}
	}
	return []string{"locklab:0:" + s.key, "locklab:1:" + s.key, "locklab:2:" + s.key}
}

func (s *redisStage) present(see *redis.Client) int64 {
	s.Helper()
	n, err := see.Exists(s.Context(), s.keys()...).Result()
	requireNoError(s, err)
	return n
}

func (s *redisStage) commands() {
	remote, session := s.join()
	takeTurn(s.T, session) // the server has the scripts from now on
	count := remote.(interface{ Counts() harness.Counts }).Counts
	before := count()
	for range 10 {
		takeTurn(s.T, session)
	}
	if got := count().Sub(before).Requests; got < 10*s.alone || got > 10*(s.alone+s.again) {
		s.Errorf("10 acquisitions cost %d commands, want %d each, and at most %d more", got, s.alone, s.again)
	}

	other, waiter := s.join()
	takeTurn(s.T, waiter)
	held := mustLock(s.T, session)
	before = other.(interface{ Counts() harness.Counts }).Counts()
	if l, err := waiter.(harness.TrySession).TryLock(s.Context()); !errors.Is(err, harness.ErrNotAcquired) {
		s.Errorf("TryLock of a held lock = %v, %v", l, err)
	}
	// Requests after the answer may still be on their way.
	refused := func() uint64 { return other.(interface{ Counts() harness.Counts }).Counts().Sub(before).Requests }
	waitUntil(s.T, "the commands of a failed attempt are sent", func() bool { return refused() >= s.refused })
	if got := refused(); got > s.refused+s.again {
		s.Errorf("a failed attempt costs %d commands, want %d, and at most %d more", got, s.refused, s.again)
	}
	s.unlock(held)
}

func (s *redisStage) timeToLive() {
	s.at.Lease = 300 * time.Millisecond
	_, session := s.join()
	l := mustLock(s.T, session)
	if s.renews {
		select {
		case <-l.Done():
			s.Errorf("the lease has ended although it is renewed: %v", l.Err())
		case <-time.After(3 * s.at.Lease):
		}
		s.unlock(l)
		return
	}
	if until, ok := l.Deadline(); !ok || time.Until(until) > s.at.Lease {
		s.Errorf("the deadline is in %v, %t; the time to live is %v", time.Until(until), ok, s.at.Lease)
	}
	select {
	case <-l.Done():
	case <-time.After(redisPatience):
		s.Fatal("Done is open after the time to live")
	}
	if !errors.Is(l.Err(), harness.ErrLost) {
		s.Errorf("Err = %v, want ErrLost", l.Err())
	}
	next := mustLock(s.T, session) // the key expires, if a little later
	expectError(s, l.Unlock(s.Context()), harness.ErrNotHeld)
	s.unlock(next)
}

func (s *redisStage) keyRemoved() {
	s.at.Lease = time.Second
	_, session := s.join()
	see := s.see()
	l := mustLock(s.T, session)
	if n, err := see.Del(s.Context(), s.keys()...).Result(); n == 0 || err != nil {
		s.Fatalf("removed %d keys: %v", n, err)
	}
	switch {
	case s.renews: // notified at once, or at the next renewal
		began := time.Now()
		select {
		case <-l.Done():
		case <-time.After(redisPatience):
			s.Fatal("Done is open after the key is gone")
		}
		if d := time.Since(began); s.told && d > s.at.Lease/4 {
			s.Errorf("the holder was told after %v", d)
		}
		if !errors.Is(l.Err(), harness.ErrLost) {
			s.Errorf("Err = %v, want ErrLost", l.Err())
		}
	case l.Err() != nil:
		s.Errorf("Err = %v: the documentation says that there is no signal", l.Err())
	}
	expectError(s, l.Unlock(s.Context()), harness.ErrNotHeld)
	if !errors.Is(l.Err(), harness.ErrLost) {
		s.Errorf("after Unlock Err = %v, want ErrLost", l.Err())
	}
	takeTurn(s.T, session)
}

// patience: a Lock without a deadline outlasts the time to live and redsync's 32 attempts.
func (s *redisStage) patience() {
	s.at.Lease = 100 * time.Millisecond
	_, session := s.join()
	see := s.see()
	takeTurn(s.T, session)
	for asked := 0; ; {
		err := s.outwait(session, see)
		if asked++; err == nil {
			return
		}
		if !s.sleeps || asked == 3 || s.present(see) > 0 {
			s.Fatal(err)
		}
		s.Logf("it slept on: %v", err)
	}
}

func (s *redisStage) outwait(session harness.Session, see *redis.Client) error {
	const taken = 400 * time.Millisecond
	for _, key := range s.keys() {
		requireNoError(s, see.Set(s.Context(), key, "another client", taken).Err())
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	defer cancel()
	defer time.AfterFunc(redisPatience, cancel).Stop()
	l, err := session.Lock(ctx)
	if err != nil {
		return err
	}
	if d := time.Since(began); d < taken*9/10 {
		s.Errorf("got the lock after %v although another client had it for %v", d, taken)
	}
	s.unlock(l)
	return nil
}

// refusals: endpoints without use are refused, and no error shows the password.
func (s *redisStage) refusals() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(s, err)
	l.Close()
	nowhere, other, stranger := s.at, s.at, s.at
	nowhere.Addrs = [][]string{{l.Addr().String()}}
	other.Kind = harness.KindZooKeeper
	stranger.Username, stranger.Password = "locklab-nobody", "wrong-secret"
	_, err = variant(s.name).Remote(s.Context(), nowhere, s.key)
	expectError(s, err, harness.ErrUnavailable)
	_, err = variant(s.name).Remote(s.Context(), other, s.key)
	expectError(s, err, harness.ErrUsage)
	_, err = variant(s.name).Remote(s.Context(), stranger, s.key)
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), stranger.Password) {
		s.Errorf("with a wrong password: %v, want WRONGPASS without the password", err)
	}
}

func (s *redisStage) connectEnds() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(s, err)
	defer l.Close()
	s.at.Addrs = [][]string{{l.Addr().String()}}
	ctx, cancel := context.WithTimeout(s.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = variant(s.name).Remote(ctx, s.at, s.key)
	if d := time.Since(began); err == nil || d > 2*time.Second {
		s.Errorf("under a context of 100 ms: %v after %v", err, d)
	}
}

func (s *redisStage) nothingLeft() {
	_, session := s.join()
	see := s.see()
	l := mustLock(s.T, session)
	if s.present(see) == 0 {
		s.Error("a lock that is held has no key")
	}
	s.unlock(l)
	waitUntil(s.T, "no key is left", func() bool { return s.present(see) == 0 })
}
