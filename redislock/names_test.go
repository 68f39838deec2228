package redislock

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

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

// checkDisjoint checks that two names share no key, and that no key has two purposes.
func checkDisjoint(t *testing.T, c *Client, a, b string) {
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
			checkDisjoint(t, c, a, b)
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
				checkDisjoint(t, c, a, b)
			}
		}
	})
}

// hashedPart returns what a cluster's slot of a key depends on.
func hashedPart(key string) string {
	if _, tail, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(tail, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// FuzzCompanionSlot: a lock and its companions are in one slot, unless no other key can be.
func FuzzCompanionSlot(f *testing.F) {
	for _, name := range []string{"locks:reindex", "a", "{a}b", "a{b}c{d}", "a{b", "{{a}}", "ä", "a b", "a:1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		queue, mail := companion(name, "queue"), companion(name, "mail:")+"ABC:1"
		if name == "" || hashTag(name) == name && strings.Contains(name, "}") {
			return // see companion
		}
		if hashedPart(name) != hashedPart(queue) || hashedPart(name) != hashedPart(mail) {
			t.Errorf("%q, %q and %q may be in different slots", name, queue, mail)
		}
	})
}

func TestParseNotification(t *testing.T) {
	to, l, err := parseNotification("ABC:7 5 1000001 500")
	if want := (notification{token: 5, time: time.Second + time.Microsecond, span: 500 * time.Millisecond}); err != nil || to != "ABC:7" || l != want {
		t.Errorf("%q, %+v, %v", to, l, err)
	}
	for _, text := range []string{"", stopWord, "a", "a 1", "a 1 2", "a 1 2 3 4", "a -1 2 3", "a 1 -2 3", "a 1 2 -3", "a 1 2 1e3", "a 1 2 0x1", "a 1 9223372036854775807 1", "a 1 2 9223372036854775807", "a\n1 2 3", "a 1 2 3\n"} {
		if to, l, err := parseNotification(text); err == nil {
			t.Errorf("%q is taken for a notification: %q, %+v", text, to, l)
		}
	}
}

func FuzzParseNotification(f *testing.F) {
	f.Add("ABC:7 5 1000001 500")
	f.Add("stop")
	f.Fuzz(func(t *testing.T, text string) {
		to, l, err := parseNotification(text)
		if err != nil {
			return
		}
		if to == "" || strings.Contains(to, " ") || l.time < 0 || l.span < 0 || l.span > maxLease || l.again {
			t.Errorf("%q gives %q, %+v", text, to, l)
		}
	})
}

// TestClock: the estimate is never after the true time, nor now, for any bounded drift.
func TestClock(t *testing.T) {
	sent := time.Now()
	for _, test := range []struct {
		name                    string
		wait, ahead, step, want time.Duration // want: the estimate is at most that much too early
	}{
		{"at once", 0, 0, 0, 0},
		{"a minute", time.Minute, 0, 0, 31 * time.Millisecond},
		{"a server that runs fast", time.Minute, 30 * time.Millisecond, 0, 31 * time.Millisecond},
		{"a server that runs slow", time.Minute, -30 * time.Millisecond, 0, 61 * time.Millisecond},
		{"a server set back", time.Minute, 0, -time.Hour, 2 * time.Hour},
	} {
		c := clock{sent, 1000 * time.Hour}
		truth := sent.Add(test.wait)
		got := c.at(c.time+test.wait+test.ahead+test.step, truth.Add(time.Second))
		if early := truth.Sub(got); early < 0 || early > test.want {
			t.Errorf("%s: reckoned %v before it was", test.name, early)
		}
	}
	now := sent.Add(time.Second)
	if got := (clock{sent, 0}).at(time.Hour, now); !got.Equal(now) {
		t.Errorf("a server set forward: %v after now", got.Sub(now))
	}
}

// TestClockOfAnother: after a failover an old notification does not count as new by the
// previous server's clock, but from when it was written, by the new one.
func TestClockOfAnother(t *testing.T) {
	const ahead, grant = 10 * time.Second, 500 * time.Millisecond
	c := NewClient(redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}), ClientOptions{})
	defer c.Close()
	m := c.Mutex("a", Options{HandoffTimeout: grant})
	w := m.enter(nil)
	defer m.leave(w)
	began := time.Now().Add(-time.Minute)
	server := func(at time.Time) time.Duration { return 1000*time.Hour + at.Sub(began) } // its clock
	text := func(at time.Duration) string {
		return fmt.Sprintf("%s 7 %d %d", w.nonce, at.Microseconds(), grant.Milliseconds())
	}
	w.box.heard(clock{began, server(began)})
	c.mail.Lock()
	w.box.failWaiters(io.EOF) // the next connection leads to another server
	c.mail.Unlock()
	if l := <-w.notification; !l.again {
		t.Errorf("when the connection broke the waiter heard %+v", l)
	}
	late := time.Now().Add(-2 * grant) // when it was written; it is read now
	w.box.deliver(text(server(late)+ahead), time.Time{})
	if l := <-w.notification; l.token > 0 {
		t.Errorf("a notification by an unknown clock grants the lock from %v ago on", time.Since(l.written))
	}
	w.box.heard(clock{began, server(began)}) // the answer to an earlier request
	w.box.deliver(text(server(late)+ahead), time.Time{})
	if l := <-w.notification; l.token > 0 {
		t.Error("a notification counts by the clock of the server before")
	}
	asked := time.Now()
	w.box.heard(clock{asked, server(asked) + ahead})
	w.box.deliver(text(server(late)+ahead), time.Time{})
	if l := <-w.notification; l.token != 7 || l.written.After(late) || late.Sub(l.written) > 10*time.Millisecond || !w.box.late {
		t.Errorf("a notification that was written %v ago counts from %v ago: %+v", time.Since(late), time.Since(l.written), l)
	}
	w.box.deliver(text(1), asked)
	if l := <-w.notification; !l.written.Equal(asked) || l.token != 7 || !w.box.late {
		t.Errorf("a notification with a reply counts from %v after the request: %+v", l.written.Sub(asked), l)
	}
}

// TestPut: a waiter reads the more important notification.
func TestPut(t *testing.T) {
	grant, news, again := notification{token: 1}, notification{span: 1}, notification{again: true}
	for _, test := range []struct{ first, second, want notification }{
		{grant, news, grant}, {news, grant, grant},
		{grant, again, grant}, {again, grant, grant},
		{again, news, again}, {news, again, again},
		{news, notification{span: 2}, notification{span: 2}}, {grant, notification{token: 2}, notification{token: 2}},
	} {
		w := &queued{notification: make(chan notification, 1)}
		w.put(test.first)
		w.put(test.second)
		if got := <-w.notification; got != test.want {
			t.Errorf("%+v and then %+v: read %+v", test.first, test.second, got)
		}
	}
}
