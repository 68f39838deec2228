package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

// A keyFuzz is a one-key lock in a real server, and its model.
type keyFuzz struct {
	*testing.T
	kind    string
	rdb     *link
	heard   *redis.PubSub
	ctx     context.Context
	scripts map[string]redislock.Runner
	key     string // and the channel
	owner   string // "" for none
	count   int    // its count
	ends    window
	sent    window        // when the latest request ran
	lease   time.Duration // of the latest request
	told    int           // expected messages
}

// FuzzKeyScripts compares the scripts of one-key locks with a model, step by step.
func FuzzKeyScripts(f *testing.F) {
	at := locktest.Endpoint(f, harness.KindRedis)
	for kind := range byte(3) {
		f.Add(kind, []byte{0, 1, 0, 4, 8, 5, 1, 12, 0, 16, 1}) // taken, taken again, renewed, released, expired, freed by force
		f.Add(kind, []byte{2, 0, 2, 3, 4, 4, 4, 1, 3, 5, 4, 5})
		f.Add(kind, []byte{0, 2, 2, 2, 8, 4, 9, 0, 12, 4, 2, 16, 16, 5, 4})
	}
	rdb := dialServer(f, at)
	scripts := redislock.KeyScripts()
	f.Fuzz(func(t *testing.T, kind byte, steps []byte) {
		k := &keyFuzz{T: t, rdb: rdb, ctx: context.WithoutCancel(t.Context()), key: newKey(), lease: fuzzedGrant}
		k.kind = []string{"poll", "pubsub", "reentrant"}[kind%3]
		k.scripts = scripts[k.kind]
		k.heard = rdb.client.Subscribe(k.ctx, k.key)
		defer k.heard.Close()
		_, err := k.heard.Receive(k.ctx)
		requireNoError(t, err)
		defer rdb.client.Del(k.ctx, k.key)
		for i, step := range steps[:min(len(steps), 100)] {
			k.step(step)
			if t.Failed() {
				t.Fatalf("at step %d of %v of %s", i, steps, k.kind)
			}
		}
	})
}

// step runs an operation of the owner in the last bit of b. The next bit is the re-entry count.
func (k *keyFuzz) step(b byte) {
	w, more := []string{"x", "y"}[b%2], int(b/2%2)
	k.told = 0
	k.lease = fuzzedLease - k.lease // other than in the request before
	switch b / 4 % 5 {
	case 0:
		k.acquire(w, more)
	case 1:
		k.release(w)
	case 2:
		mine := k.owner == w
		k.same("renew", k.run("renew", w, k.lease.Milliseconds()), mine)
		if mine {
			k.ends = k.sent.add(k.lease)
		}
	case 3:
		k.rdb.client.Del(k.ctx, k.key)
		k.owner = ""
	case 4:
		held := k.owner != ""
		k.same("force", k.run("force", k.key, "0"), held)
		if held {
			k.owner, k.told = "", 1
		}
	}
	k.check()
}

func (k *keyFuzz) acquire(w string, more int) {
	mine, count, args := k.owner == w, 1, []any{w, k.lease.Milliseconds()}
	if k.kind == "reentrant" {
		if count += more; mine {
			count = k.count + more
		}
		args = []any{w, count, k.lease.Milliseconds()}
	}
	got, left := k.run("acquire", args...), time.Duration(-1)
	took := mine || k.owner == "" && count == 1
	switch reply := got.(type) {
	case []any:
		want := map[bool]int64{true: 1}[took]
		if !mine && count > 1 {
			want = -1
		}
		if reply[0] != want {
			k.Errorf("%s returns %v, want %d", w, got, want)
		}
		left = time.Duration(reply[1].(int64)) * time.Millisecond
	case int64:
		if (reply > 0) != took {
			k.Errorf("%s returns %v, want the lock: %t", w, got, took)
		}
		left = time.Duration(-reply) * time.Millisecond
	}
	if taken := !took && count == 1 && k.kind != "poll"; taken && !k.sent.add(left).meets(k.ends) {
		k.Errorf("%s returns that the lock is taken for %v, want %v", w, left, k.ends.from.Sub(k.sent.from))
	}
	if took {
		k.owner, k.count, k.ends = w, count, k.sent.add(k.lease)
	}
}

func (k *keyFuzz) release(w string) {
	mine, down, args := k.owner == w, 0, []any{w, k.key}
	if k.kind == "reentrant" {
		if mine {
			down = k.count - 1
		}
		args = []any{w, down, k.key, "0"}
	}
	k.same("release", k.run("release", args...), mine)
	switch {
	case mine && down > 0:
		k.count = down
	case mine && k.kind == "poll":
		k.owner = ""
	case (mine || k.owner == "") && k.kind != "poll": // if it was free, the server may have lost its data
		k.owner, k.told = "", 1
	}
}

func (k *keyFuzz) same(op string, got any, want bool) {
	if got != map[bool]int64{true: 1}[want] && got != want {
		k.Errorf("%s returns %v, want %t", op, got, want)
	}
}

func (k *keyFuzz) run(op string, args ...any) any {
	k.Helper()
	k.sent.from = time.Now()
	reply, err := k.scripts[op](k.ctx, k.rdb.client, []string{k.key}, args...).Result()
	k.sent.to = time.Now()
	if err != nil {
		k.Fatalf("%s %v: %v", op, args, err)
	}
	return reply
}

func (k *keyFuzz) check() {
	want, got := "", k.rdb.client.Get(k.ctx, k.key).Val()
	if want = k.owner; k.kind == "reentrant" {
		got = fmt.Sprint(k.rdb.client.HGetAll(k.ctx, k.key).Val())
		if want = "map[]"; k.owner != "" {
			want = fmt.Sprintf("map[%s:%d]", k.owner, k.count)
		}
	}
	if got != want {
		k.Errorf("the key has %q, want %q", got, want)
	}
	if k.owner != "" {
		requireLife(k.T, k.rdb, k.key, k.ends)
	}
	k.rdb.client.Publish(k.ctx, k.key, "end of step")
	for n := 0; ; n++ {
		m, err := k.heard.ReceiveMessage(k.ctx)
		requireNoError(k.T, err)
		if m.Payload != "end of step" {
			continue
		}
		if n != k.told {
			k.Errorf("%d messages, want %d", n, k.told)
		}
		return
	}
}

// TestLastMillisecond: a lock that is about to expire is not taken for one without an end.
func TestLastMillisecond(t *testing.T) {
	k := &keyFuzz{T: t, rdb: dialServer(t, runParallel(t)), ctx: t.Context()}
	for kind, count := range map[string][]any{"pubsub": nil, "reentrant": {1}} {
		k.key, k.scripts = newKey(), redislock.KeyScripts()[kind]
		for owner := 0; owner < 20; {
			switch got := fmt.Sprint(k.run("acquire", append(append([]any{owner}, count...), 3)...)); got {
			case "1", "[1 0]":
				owner++ // which waits for 3 ms
			case "0", "[0 0]":
				t.Fatalf("%s: it is taken for ever: %s", kind, got)
			}
		}
	}
}
