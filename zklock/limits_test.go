package zklock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

// TestLimits tests paths and ACLs at their limits, alone: long packets keep the server busy.
func TestLimits(t *testing.T) {
	at := endpoint(t)
	runTogether(t, at, []serverTest{
		{"paths refused by every method", pathsRefused},
		{"sizes refused by every kind", sizesRefused},
		{"characters of a path", charsAccepted},
		{"longest path and ACL", longestPath},
	})
}

// useEvery calls every method that takes a path, and returns their errors.
func useEvery(ctx context.Context, c *zklock.Client, path string) map[string]error {
	errs := make(map[string]error)
	use := func(name string, m locker) {
		l, err := m.TryLock(ctx)
		if err == nil {
			err = l.Unlock(ctx)
		}
		errs[name] = err
	}
	use("multi with another", c.Multi([]string{root + "/multi", path}, zklock.MultiOptions{Ordered: true}))
	for _, k := range kinds {
		if k.name == "multi" {
			continue // it appends to the path
		}
		m := k.lock(c, path)
		use(k.name, m)
		if m, ok := m.(lister); ok {
			errs[k.name+", Holders"] = errorOf(m.Holders(ctx))
			errs[k.name+", Waiters"] = errorOf(m.Waiters(ctx))
		}
	}
	return errs
}

// sizesRefused: impossible options and numbers cost no request.
func sizesRefused(t *testing.T, at harness.Endpoint) {
	c, path := dialServer(t, at, zklock.ClientOptions{}), newPath()
	all := []locker{c.Multi(nil, zklock.MultiOptions{})}
	for _, k := range kinds {
		all = append(all, k.open(c, path, 1, zklock.Options{Wait: -1}), k.open(c, path, 1, zklock.Options{MaxHold: -1}))
		if k.counts {
			all = append(all, k.open(c, path, 0, zklock.Options{}), k.open(c, path, -3, zklock.Options{}))
		}
	}
	expectCost(t, harness.Counts{}, func() {
		for _, m := range all {
			expectError(t, lockError(t.Context(), m.Lock), zklock.ErrUsage)
			expectError(t, lockError(t.Context(), m.TryLock), zklock.ErrUsage)
		}
	}, c)
}

var badPaths = map[string]string{
	"": "empty", "locks/a": "begin with /", "/": "root", "/locks/": "ends with /", "/locks//a": "//", "//locks": "//",
	"/locks/../a": "..", "/locks/./a": " .", "/zookeeper/a": "/zookeeper", "/zookeeper": "/zookeeper",
	"/locks/lock-0000000001": "ticket", "/locks/_c_x-permit-0000000001/a": "ticket", "/locks/_c_x-lease--2147483648": "ticket",
	"/locks/_c_x-__READ__0000000001": "ticket", "locks": "begin with /", "/a\tb": "unprintable", "/locks/_c_x-__WRIT__0000000001/reindex1": "ticket",
	"/a\nb": "unprintable", "/a\x00b": "unprintable", "/\uf000": "unprintable", "/a\u009f": "unprintable", "/a\ue000": "unprintable",
	"/a\ufffe": "unprintable", "/a\U0001f512": "unprintable", "/a\xff": "unprintable", "/a\xed\xa0\x80": "unprintable",
	"/" + strings.Repeat("x", zklock.MaxPath): "bytes", "/" + strings.Repeat("x", 1100<<10): "bytes", strings.Repeat("/x", 3<<20): "bytes",
}

func pathsRefused(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at, zklock.ClientOptions{})
	for path, why := range badPaths {
		expectCost(t, harness.Counts{}, func() {
			for name, err := range useEvery(t.Context(), c, path) {
				if !errors.Is(err, zklock.ErrPath) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
					t.Errorf("%s at %.20q, %d bytes: %.200v, want ErrPath with %q in one short line", name, path, len(path), err, why)
				}
			}
		}, c)
	}
	unlockLease(t, lockNow(t, c.Mutex(newPath()+"/Größe 1", zklock.Options{})))
}

// charsAccepted compares the limits of the characters with the server's.
func charsAccepted(t *testing.T, at harness.Endpoint) {
	see, base := dialRaw(t, at), newPath()
	unlockLease(t, lockNow(t, newMutex(t, at, base)))
	for _, r := range []rune{0x1f, 0x20, 0x7e, 0x7f, 0x9f, 0xa0, 0xd7ff, 0xe000, 0xf000, 0xf8ff, 0xf900, 0xffef, 0xfff0, 0xfffe, 0xffff, 0x10000, 0x1f512, utf8.MaxRune} {
		_, err := see.Create(base+"/"+string(r), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if refused := zklock.CheckPath("/"+string(r)) != nil; refused != (err != nil) {
			t.Errorf("%U: refused %t, the servers say %v", r, refused, err)
		}
	}
}

func longestPath(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	acl := zk.WorldACL(zk.PermAll)
	for size, k := 12+len("world")+len("anyone"), 0; ; k++ {
		a := zk.ACL{Perms: zk.PermRead, Scheme: "ip", ID: fmt.Sprintf("10.%d.%d.0/24", k>>8, k&255)}
		if size += 12 + len(a.Scheme) + len(a.ID); size > zklock.MaxACL {
			break
		}
		acl = append(acl, a)
	}
	o := zklock.ClientOptions{ACL: acl, SessionTimeout: time.Minute}
	long := append(slices.Clone(acl), zk.DigestACL(zk.PermAll, "one", "more")...)
	expectError(t, errorOf(zklock.Dial(t.Context(), at.Addrs[0], zklock.ClientOptions{ACL: long})), zklock.ErrUsage)
	path := newPath()
	path += "/" + strings.Repeat("x", zklock.MaxPath-len(path)-1)
	c, d := dialServer(t, at, o), dialServer(t, p.at, o)
	head := lockNow(t, c.Mutex(path, zklock.Options{}))
	got := lockBehind(t.Context(), d.Mutex(path, zklock.Options{}).Lock)
	p.cut()
	waitUntil(t, "the waiter is cut off", func() bool { return !zklock.Up(d) })
	waitUntil(t, "the waiter is back", func() bool { return zklock.Up(d) })
	handOver(t, head, got)
}

// nilContexts: a nil context is one that does not end, in every method.
func nilContexts(t *testing.T, at harness.Endpoint) {
	var none context.Context
	c, err := zklock.Dial(none, at.Addrs[0], zklock.ClientOptions{})
	requireNoError(t, err)
	defer c.Close()
	for name, err := range useEvery(none, c, newPath()) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, k := range kinds {
		m, ran := k.lock(c, newPath()), false
		l, err := m.Lock(none)
		requireNoError(t, err)
		requireNoError(t, l.Unlock(none))
		err = zklock.Do(none, m, func(ctx context.Context, _ *zklock.Lease) error { ran = true; return ctx.Err() })
		if err != nil || !ran {
			t.Errorf("%s: Do = %v, and f has run: %t", k.name, err, ran)
		}
	}
}

type options = zklock.ClientOptions

const dead = "127.0.0.1:1" // no server

var refusedOptions = []struct {
	servers []string // nil for the common one
	o       options
	want    error
	why     string
}{
	{[]string{dead}, options{}, zklock.ErrUnavailable, "refused"},
	{[]string{"nowhere.invalid:2181"}, options{}, zklock.ErrUnavailable, "nowhere.invalid"},
	{[]string{}, options{}, zklock.ErrUsage, "no server"},
	{[]string{dead + "/app"}, options{}, zklock.ErrUsage, "chroot"},
	{[]string{dead, "127.0.0.1:99999"}, options{}, zklock.ErrUsage, "99999"},
	{nil, options{Tick: -1}, zklock.ErrUsage, "-1ns"},
	{nil, options{ACL: zk.AuthACL(zk.PermAll)}, zklock.ErrUsage, "scheme auth"}, // without a user

	{nil, options{SessionTimeout: time.Millisecond}, zklock.ErrSessionTimeout, "asked for 1ms, the servers grant "},
	{nil, options{SessionTimeout: 24 * time.Hour}, zklock.ErrSessionTimeout, "asked for 24h0m0s, the servers grant "},
	{nil, options{SessionTimeout: -time.Second}, zklock.ErrSessionTimeout, "-1s, want a millisecond or more, or 0 for the default"},
	{nil, options{SessionTimeout: time.Microsecond}, zklock.ErrSessionTimeout, "1µs, want a millisecond or more, or 0 for the default"},
	{nil, options{SessionTimeout: 1 << 31 * time.Millisecond}, zklock.ErrSessionTimeout, "596h31m23.648s, want at most 596h31m23.647s"}, // the servers would receive another number

	{nil, options{SessionTimeout: 1 << 62}, zklock.ErrSessionTimeout, "want at most 596h31m23.647s"},
	{nil, options{Margin: -1}, zklock.ErrMargin, "-1ns"},
	{nil, options{SessionTimeout: 2 * time.Second, Margin: 1 << 62}, zklock.ErrMargin, "of a session timeout of 2s"},
	{nil, options{SessionTimeout: 2 * time.Second, Margin: -4 * time.Second}, zklock.ErrMargin, "-4s"},
	{nil, options{SessionTimeout: 2 * time.Second, Margin: 700*time.Millisecond + 1}, zklock.ErrMargin, "at most 700ms"}, // 0.35
	{nil, options{SessionTimeout: 2 * time.Second, Margin: 2 * time.Second}, zklock.ErrMargin, "2s of a session timeout of 2s"},
	{nil, options{Margin: 59 * time.Second}, zklock.ErrMargin, "59s"}, // more than any granted timeout allows
	{nil, options{SessionTimeout: 2 * time.Second, Margin: 600*time.Millisecond + 1, Tick: 1100 * time.Millisecond}, zklock.ErrMargin, "at most 600ms"},
	{nil, options{SessionTimeout: 2 * time.Second, Tick: 2 * time.Second}, zklock.ErrMargin, "none fits into"},
}

// dialRefuses: Dial reports a mistake in one line.
func dialRefuses(t *testing.T, at harness.Endpoint) {
	for _, test := range refusedOptions {
		limit, servers := patience, at.Addrs[0]
		if test.want == zklock.ErrUnavailable {
			limit = time.Second
		}
		if test.servers != nil {
			servers = test.servers
		}
		c, err := zklock.Dial(contextWithin(t, limit), servers, test.o)
		if err == nil {
			c.Close()
			t.Errorf("%q, %+v: Dial succeeds", servers, test.o)
		} else if text := err.Error(); !errors.Is(err, test.want) || strings.Contains(text, "\n") || !strings.Contains(text, test.why) ||
			len(test.servers) > 0 && !strings.Contains(text, servers[len(servers)-1]) {
			t.Errorf("%q, %+v: Dial = %v, want %v, the address and %q in one line", servers, test.o, err, test.want, test.why)
		}
	}
}

func checkMargins(t *testing.T, at harness.Endpoint) {
	for _, o := range []zklock.ClientOptions{
		{SessionTimeout: 2 * time.Second, Margin: 1},
		{SessionTimeout: 2 * time.Second, Margin: 700 * time.Millisecond},
		{Margin: time.Second},
		{SessionTimeout: 2 * time.Second, Margin: 600 * time.Millisecond, Tick: 1100 * time.Millisecond},
	} {
		c := dialServer(t, at, o)
		expectEqual(t, "granted", c.SessionTimeout(), cmp.Or(o.SessionTimeout, 10*time.Second))
	}
	// A later session may be granted less than the first.
	d, see := dialServer(t, at, zklock.ClientOptions{SessionTimeout: 4 * time.Second}), dialRaw(t, at)
	zklock.SetMargin(d, 4*time.Second)
	m := d.Mutex(newPath(), zklock.Options{})
	expectError(t, lockError(contextWithin(t, patience), m.Lock), zklock.ErrMargin)
	awaitQueue(t, see, m.Path(), 0)
}
