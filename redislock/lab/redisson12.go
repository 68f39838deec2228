package lab

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
)

// redisson12 is the lock of Redisson 1.2.0, before it used scripts, with its faults.
// redis-reentrant is its successor.
//
//  1. Try: SETNX of {id, thread, count}; with a lease, PEXPIRE. If the key was there, GET; if it
//     is one's own, count one more with MULTI, SET, EXEC. Otherwise PTTL returns how long to
//     wait.
//  2. Otherwise join the subscription of the process, try again, and wait for a permit of the
//     process's semaphore; each message gives one permit.
//  3. Release: GET; if the count is more than one, SET one less, else MULTI, DEL, PUBLISH, EXEC.
//
// An uncontended acquisition takes six commands in three round trips.
//
// # Known faults
//
// The key may change between two commands, since nothing is WATCHed:
//
//   - The lease ends after GET and another client takes the lock: SET then makes it one's own a
//     second time, and DEL frees the other's lock.
//   - SET drops the time to live: a lock with a lease becomes permanent.
//   - Without a lease, and after a crash between SETNX and PEXPIRE, a key stays forever.
//   - The key may vanish after GET: PTTL then returns -2, which is taken for -1, a lock without
//     a lease, and the wait ends only with a message.
//   - The time of the subscription is not subtracted from the time to wait, so tryLock may take
//     twice its time.
//   - A message without a waiter leaves a permit, which wakes a later waiter in vain; and a
//     release wakes one waiter in every process.
//
// # References
//
// Redisson 1.2.0, org.redisson.RedissonLock, as described in an article on its source; we
// have not seen the source itself.
var redisson12 = &harness.Variant{
	Name:   "redis-redisson12",
	Doc:    "Redisson before scripts: SETNX, GET, MULTI; loses and gives away locks",
	Paper:  "Redisson 1.2.0, RedissonLock",
	Status: harness.Historical,
	Traits: harness.Traits{Reentrant: true},
	Remote: plain(func(p *process, name string, ttl time.Duration) func() harness.Session {
		r := newLock12(p, name, ttl)
		return func() harness.Session { return r.thread() }
	}),
}

type lock12 struct {
	*redisson
	channel string

	// before is called with the name of the next step, for tests to interleave other clients.
	before func(step string)
}

func newLock12(p *process, name string, lease time.Duration) *lock12 {
	return &lock12{redisson: newRedisson(p, name, lease), channel: "redisson__lock__channel__" + name, before: func(string) {}}
}

func (r *lock12) thread() *thread12 {
	t := &thread12{r: r, id: r.owners.Add(1)}
	t.plainSession = plainSession{r.p, r.name, t.acquire}
	return t
}

type value12 struct {
	ID       string `json:"id"`
	ThreadID int64  `json:"threadId"`
	Counter  int    `json:"counter"`
}

type thread12 struct {
	plainSession
	r  *lock12
	id int64
}

func (v value12) MarshalBinary() ([]byte, error) { return json.Marshal(v) }

func (t *thread12) held(ctx context.Context) (v value12, mine bool, err error) {
	text, err := t.r.p.rdb.Get(ctx, t.r.name).Bytes()
	if err == redis.Nil {
		return v, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	return v, err == nil && v.ID == t.r.id && v.ThreadID == t.id, err
}

// try takes the lock, takes it once more, or returns the result of PTTL.
func (t *thread12) try(ctx context.Context, lease time.Duration) (ok bool, pttl time.Duration, err error) {
	r := t.r
	ok, err = r.p.rdb.SetNX(ctx, r.name, value12{r.id, t.id, 1}, 0).Result()
	if err != nil || ok {
		if ok && lease > 0 {
			err = r.p.rdb.PExpire(ctx, r.name, lease).Err()
		}
		return ok && err == nil, 0, err
	}
	v, mine, err := t.held(ctx)
	if err != nil {
		return false, 0, err
	}
	if mine {
		v.Counter++
		_, err := r.p.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, r.name, v, 0).Err() })
		return err == nil, 0, err
	}
	pttl, err = r.p.rdb.PTTL(ctx, r.name).Result() // -1 and -2 are in nanoseconds
	return false, pttl, err
}

// forever is a time to wait without a bound.
const forever = time.Duration(1<<63 - 1)

// lock waits for the lock for wait, and for the subscription for as long again.
func (t *thread12) lock(ctx context.Context, wait, lease time.Duration) (ok bool, err error) {
	if ok, _, err = t.try(ctx, lease); ok || err != nil {
		return ok, err
	}
	t.r.before("subscribe")
	short, cancel := context.WithTimeout(ctx, wait)
	s, err := t.r.hub.join(short, t.r.channel)
	cancel()
	if err == nil {
		defer t.r.hub.leave(ctx, t.r.channel)
	}
	for left := wait; err == nil; {
		var pttl time.Duration
		ok, pttl, err = t.try(ctx, lease)
		if ok || err != nil || left <= 0 {
			return ok, err
		}
		if pttl < 0 || pttl > left {
			pttl = left
		}
		began := time.Now()
		t.r.before("sleep")
		err = ignoreTimeout(ctx, t.r.hub.sleep(ctx, s, pttl)) // the lease of the holder is over
		left -= time.Since(began)
	}
	return false, ignoreTimeout(ctx, err)
}

func ignoreTimeout(ctx context.Context, err error) error {
	if err == context.DeadlineExceeded {
		return ctx.Err()
	}
	return err
}

func (t *thread12) unlock(ctx context.Context) (held bool, err error) {
	v, mine, err := t.held(ctx)
	if err != nil || !mine {
		return false, err
	}
	if v.Counter > 1 {
		v.Counter--
		return true, t.r.p.rdb.Set(ctx, t.r.name, v, 0).Err()
	}
	_, err = t.r.p.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, t.r.name)
		p.Publish(ctx, t.r.channel, unlockMessage)
		return nil
	})
	return true, err
}

func (t *thread12) acquire(ctx context.Context, try bool) (*adapt.Lease, error) {
	var ok bool
	var err error
	if try {
		ok, _, err = t.try(ctx, t.r.ttl)
	} else {
		ok, err = t.lock(ctx, forever, t.r.ttl)
	}
	if err == nil && !ok {
		err = harness.ErrNotAcquired
	}
	if err != nil {
		return nil, err
	}
	return t.p.grant(time.Now(), t.r.ttl, t.unlock, nil)
}
