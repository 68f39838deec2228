package zklock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

func TestMulti(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"order", multiOrder},
		{"beside single mutexes", multiBesideSingle},
		{"partial failure", multiPartial},
		{"one is lost while waiting for the next", multiLosesWhileWaiting},
		{"tokens", multiTokens},
	})
}

func multiOrder(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{})
	for _, test := range []struct {
		o     zklock.MultiOptions
		paths []string
		want  []string
	}{
		{zklock.MultiOptions{}, []string{"/c", "/a", "/b", "/a"}, []string{"/a", "/b", "/c"}},
		{zklock.MultiOptions{Ordered: true}, []string{"/c", "/a", "/c", "/b"}, []string{"/c", "/a", "/b"}},
	} {
		given := slices.Clone(test.paths)
		if have := c.Multi(test.paths, test.o).Paths(); !slices.Equal(have, test.want) {
			t.Errorf("Paths = %q, want %q", have, test.want)
		}
		if !slices.Equal(test.paths, given) {
			t.Error("the caller's paths are sorted")
		}
	}
	expectError(t, lockError(t.Context(), c.Multi(nil, zklock.MultiOptions{}).Lock), zklock.ErrNoPath, zklock.ErrUsage)
}

func multiBesideSingle(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b"}, zklock.MultiOptions{})
	b := d.Mutex(path+"/b", zklock.Options{})
	l := acquire(t, m.Lock)
	expectExcluded(t, "a mutex of the second path", b.Lock)
	unlock(t, l)
	single := lock(t, b)
	all := behind(t.Context(), m.Lock)
	expectWaiting(t, all)
	expectExcluded(t, "a mutex of the first path", d.Mutex(path+"/a", zklock.Options{}).Lock) // held meanwhile
	unlock(t, single)
	unlock(t, awaitLease(t, all))
}

func multiPartial(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b", path + "/c"}, zklock.MultiOptions{})
	last := lock(t, d.Mutex(path+"/c", zklock.Options{}))
	expectError(t, lockError(t.Context(), m.TryLock), zklock.ErrNotAcquired)
	ctx, cancel := context.WithTimeout(t.Context(), aWhile)
	defer cancel()
	expectError(t, lockError(ctx, m.Lock), context.DeadlineExceeded)
	for _, name := range []string{"/a", "/b"} {
		awaitQueue(t, see, path+name, 0)
	}
	awaitQueue(t, see, path+"/c", 1)
	unlock(t, last)
	if l, err := m.TryLock(t.Context()); err != nil {
		t.Error(err)
	} else {
		unlock(t, l)
	}
}

// multiLosesWhileWaiting: a mutex lost while another is awaited is taken again.
func multiLosesWhileWaiting(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	m := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).Multi([]string{path + "/a", path + "/b"}, zklock.MultiOptions{})
	d := dial(t, at, zklock.ClientOptions{})
	second := lock(t, d.Mutex(path+"/b", zklock.Options{}))
	all := behind(t.Context(), m.Lock)
	before := awaitQueue(t, see, path+"/a", 1)
	expire(t, see, p, path+"/a")
	eventually(t, "the first is taken again", func() bool {
		now := queue(t, see, path+"/a")
		return len(now) == 1 && now[0] != before[0]
	})
	unlock(t, second)
	unlock(t, awaitLease(t, all))
	for _, name := range []string{"/a", "/b"} {
		awaitQueue(t, see, path+name, 0)
	}
}

func multiTokens(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/b", path + "/a"}, zklock.MultiOptions{})
	l := acquire(t, m.Lock)
	a, b := l.TokenOf(path+"/a"), l.TokenOf(path+"/b")
	if l.Token() != a || a == 0 || b <= a || l.TokenOf("/other") != 0 {
		t.Errorf("tokens %d, %d and %d", l.Token(), a, b)
	}
	unlock(t, l)
	single := lock(t, c.Mutex(path+"/b", zklock.Options{}))
	if single.Token() <= b {
		t.Errorf("token %d after %d", single.Token(), b)
	}
	unlock(t, single)
}
