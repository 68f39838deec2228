package redislock

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// keysOfAll returns the keys and channels of every kind of lock with that name, first itself.
func keysOfAll(c *Client, name string) []string {
	m := c.Mutex(name, Options{})
	if m.err != nil {
		return nil
	}
	keys := m.keys[:3] // the fourth is the prefix of mailboxes
	s := c.shared(name, Options{}, 1)
	return slices.Concat(keys, []string{m.keys[3] + c.id}, s.keys[4:],
		[]string{c.PubSubMutex(name, Options{}).channel})
}

func namesTest(t testing.TB) *Client {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	c := NewClient(rdb, ClientOptions{Name: "a.b_c-d/e"})
	t.Cleanup(func() { c.Close(); rdb.Close() })
	return c
}

// disjoint checks that two names share no key, and that no key has two purposes.
func disjoint(t *testing.T, c *Client, a, b string) {
	t.Helper()
	all := append(keysOfAll(c, a), keysOfAll(c, b)...)
	if a == b {
		all = keysOfAll(c, a)
	}
	slices.Sort(all)
	for i := range all {
		if i > 0 && all[i] == all[i-1] {
			t.Errorf("%q and %q share %q", a, b, all[i])
		}
	}
}

func TestNames(t *testing.T) {
	c := namesTest(t)
	names := []string{"x", "{x}", "{{x}}", "{x", "x}", "{x}}", "x{", "}", "{", "{}", "{}x", "x{}", "}x{", "{x}{y}", "{x{y}", "a{x}", "a{x}b",
		"{x}:", "{x}:~", "x:", "x~", "{x}~", "{x}:queue", "{x}:token", "{x}:mail:", "x:queue", "{x}:queue:queue", "{x}queue", "~queue:", "{x}~Queue",
		"redisson_lock__channel:{x}", "locks:x", "{locks:x}", "locks:{x}", "locks:~", "\n", "~mail:a:b", "x\xff", "{x}~mail"}
	for i, a := range names {
		if keysOfAll(c, a) == nil {
			t.Errorf("%q is refused", a)
		}
		for _, b := range names[:i+1] {
			disjoint(t, c, a, b)
		}
	}
	for _, name := range names { // a companion is not a valid name
		for _, key := range keysOfAll(c, name)[1:] {
			for _, k := range []interface{ misuse() error }{c.Mutex(key, Options{}), c.PollMutex(key, PollOptions{}), c.Reentrant(key, Options{})} {
				if err := k.misuse(); !errors.Is(err, ErrUsage) {
					t.Errorf("a %T called %q, which is a key of %q: %v", k, key, name, err)
				}
			}
		}
	}
}

// TestNeeds: arguments are listed for all commands of renewals and releases.
func TestNeeds(t *testing.T) {
	for _, text := range []string{exclusive.needs, sharing.needs, pollNeeds, pubsubNeeds, reentrantNeeds} {
		if !strings.Contains(text, " pexpire/2") || !strings.Contains(text, " del/1") {
			t.Errorf("%q lacks what every lock needs", text)
		}
	}
	for _, k := range []queueKind{exclusive, sharing} {
		for _, s := range []*script{k.acquire, k.release, k.free, k.renew, k.check, k.pass, k.force, pollAcquire, pollRelease, pollRenew, pubsubAcquire, pubsubRelease, reentrantAcquire, reentrantRelease, reentrantRenew} {
			for _, found := range scriptCommand.FindAllStringSubmatch(s.source, -1) {
				if _, known := arguments[strings.ToLower(found[1])]; !known && !strings.EqualFold(found[1], "publish") {
					t.Errorf("how many arguments does %s take?", found[1])
				}
			}
		}
	}
}

func (m *Mutex) misuse() error     { return m.err }
func (k *keyLock) misuse() error   { return k.err }
func (m *Reentrant) misuse() error { return m.err }

func FuzzNames(f *testing.F) {
	f.Add("x", "{x}")
	f.Add("{x}:queue", "x")
	f.Add("{x}~queue", "{x}:~queue")
	f.Add("{x}:~mail:", "{x}")
	c := namesTest(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, a := range []string{a, "{" + a + "}"} {
			for _, b := range []string{b, "{" + b + "}", a + ":" + b, a + "~" + b, "{" + a + "}~" + b, a + ":~" + b} {
				disjoint(t, c, a, b)
			}
		}
	})
}
