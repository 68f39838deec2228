package harness_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"locklab/harness"
)

func local(harness.Setup) harness.Local { return harness.Shared(new(sync.Mutex)) }

func remote(context.Context, harness.Endpoint, string) (harness.Remote, error) { return nil, nil }

func correct() harness.Variant {
	return harness.Variant{
		Name: "one-lock.v2", Doc: "a lock", Paper: "Author 1999",
		Family: harness.Spin, Local: local,
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*harness.Variant)
		want  string // "" accepts
	}{
		{"correct", func(*harness.Variant) {}, ""},
		{"correct remote", func(v *harness.Variant) {
			v.Local, v.Remote, v.Traits.Needs = nil, remote, harness.KindRedis
		}, ""},
		{"no name", func(v *harness.Variant) { v.Name = "" }, "has no name"},
		{"capital", func(v *harness.Variant) { v.Name = "Lock" }, "lower-case words"},
		{"space", func(v *harness.Variant) { v.Name = "one lock" }, "lower-case words"},
		{"slash", func(v *harness.Variant) { v.Name = "one/lock" }, "lower-case words"},
		{"equals sign", func(v *harness.Variant) { v.Name = "one=lock" }, "lower-case words"},
		{"two hyphens", func(v *harness.Variant) { v.Name = "one--lock" }, "lower-case words"},
		{"hyphen at the end", func(v *harness.Variant) { v.Name = "one-" }, "lower-case words"},
		{"digit first", func(v *harness.Variant) { v.Name = "1lock" }, "lower-case words"},
		{"digits at the end", func(v *harness.Variant) { v.Name = "lock-8" }, "ends in -digits"},
		{"no doc", func(v *harness.Variant) { v.Doc = "" }, "is undocumented"},
		{"strange complexity", func(v *harness.Variant) { v.Complexity = harness.Composed + 1 }, "Complexity"},
		{"no paper", func(v *harness.Variant) { v.Paper = "" }, "names no source"},
		{"no family", func(v *harness.Variant) { v.Family = "" }, `unknown family ""`},
		{"strange status", func(v *harness.Variant) { v.Status = "new" }, `unknown status "new"`},
		{"no constructor", func(v *harness.Variant) { v.Local = nil }, "exactly one of Local and Remote"},
		{"two constructors", func(v *harness.Variant) {
			v.Remote, v.Traits.Needs = remote, harness.KindRedis
		}, "exactly one of Local and Remote"},
		{"remote without server", func(v *harness.Variant) { v.Local, v.Remote = nil, remote }, "Traits.Needs"},
		{"local with server", func(v *harness.Variant) { v.Traits.Needs = harness.KindRedis }, "Traits.Needs"},
		{"stuck, and ours", func(v *harness.Variant) { v.MayStick = map[string]string{"cancel": "a fault"} }, "no lock of others"},
		{"stuck, of others", func(v *harness.Variant) {
			v.Family, v.MayStick = harness.Peer, map[string]string{"cancel": "a fault"}
		}, ""},
		{"negative workers", func(v *harness.Variant) { v.Traits.MaxWorkers = -1 }, "negative MaxWorkers"},
		{"a wait policy of servers", func(v *harness.Variant) {
			v.Local, v.Traits.Needs, v.Traits.FollowsWait = nil, harness.KindRedis, true
			v.Remote = func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return nil, nil }
		}, "of local locks"},
		{"a doorway to no queue", func(v *harness.Variant) { v.Traits.Doorway = true }, "has a Doorway without FIFO"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := correct()
			test.spoil(&v)
			wantError(t, harness.Validate([]*harness.Variant{&v}), test.want)
		})
	}
}

func TestValidateSuite(t *testing.T) {
	a, b, c := correct(), correct(), correct()
	b.Doc, c.Paper = "", ""
	err := harness.Validate([]*harness.Variant{&a, &b, &c})
	for _, want := range []string{"is listed twice", "is undocumented", "names no source"} {
		wantError(t, err, want) // all mistakes at once
	}
	if err := harness.Validate(nil); err != nil {
		t.Errorf("an empty suite has no mistakes, got %v", err)
	}
}

func TestShared(t *testing.T) {
	mu := new(sync.Mutex)
	l := harness.Shared(mu)
	if l.Worker(0) != sync.Locker(mu) || l.Worker(7) != sync.Locker(mu) {
		t.Error("every worker must get the lock itself")
	}
	if _, ok := l.Worker(0).(harness.TryLocker); !ok {
		t.Error("the lock's TryLock must stay visible")
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want no error", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want an error with %q", err, want)
	}
}
