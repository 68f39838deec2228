package redislock_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

type sent struct {
	passThrough
	mu    sync.Mutex
	names []string
}

func (s *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.mu.Lock()
		s.names = append(s.names, cmd.Name())
		s.mu.Unlock()
		return next(ctx, cmd)
	}
}

func (s *sent) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.DeleteFunc(s.names, func(name string) bool { return name == "hello" || name == "client" })
	s.names = nil
	return names
}

// deleter returns the server's command for compare-and-delete.
func deleter(t *testing.T, at harness.Endpoint) string {
	t.Helper()
	known, err := dial(t, at).Command(t.Context()).Result()
	requireNoError(t, err)
	for _, name := range []string{"delex", "delifeq"} {
		if known[name] != nil {
			return name
		}
	}
	return "evalsha"
}

func releaseCommand(t *testing.T, at harness.Endpoint) {
	want := deleter(t, at)
	t.Logf("this server releases by %s", want)
	c := dial(t, at)
	m := pollMutex(t, c, newKey(), redislock.Options{})
	unlock(t, lock(t, m)) // the server may not have the scripts yet
	log := new(sent)
	c.Client.AddHook(log)
	unlock(t, lock(t, m))
	if got := log.take(); !slices.Equal(got, []string{"evalsha", want}) {
		t.Errorf("an acquisition sends %v, want evalsha and %s", got, want)
	}
}

func releaseMissing(t *testing.T, at harness.Endpoint) {
	known, c := deleter(t, at), dial(t, at)
	log := new(sent)
	c.Client.AddHook(log)
	for by, name := range map[int]string{2: "delex", 3: "delifeq"} {
		if name == known {
			continue
		}
		client := newClient(t, c)
		for try := range 2 {
			key := newKey()
			requireNoError(t, c.Set(t.Context(), key, "nonce", patience).Err())
			log.take()
			for _, nonce := range []string{"other", "nonce"} {
				held, err := redislock.CompareAndDelete(t.Context(), client, key, nonce, by)
				if err != nil || held != (nonce == "nonce") {
					t.Errorf("release by %s of the lock of %s: %t, %v", name, nonce, held, err)
				}
			}
			names := log.take()
			if got := owner(t, c, key); got != "" {
				t.Errorf("%s is left", got)
			}
			if asked := strings.Count(strings.Join(names, " "), name); asked != 1-try {
				t.Errorf("try %d: %v was sent, of which %s %d times", try, names, name, asked)
			}
		}
	}
}
