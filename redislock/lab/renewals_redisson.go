package lab

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/harness"
	wireredis "locklab/internal/wire/redis"
)

// renewalsRedisson is redis-poll with Redisson's renewal: one task for all locks of a client,
// which in a Redis Cluster visits one slot after another.
//
// # Known faults
//
// The task asks a slot when the previous one has answered, and a round ends with the first
// that does not. If a node of a cluster hangs, the locks in later slots are not renewed,
// whatever their node. They are lost with their lease, in this round or the next, though their
// node runs. The order is a hash table's.
//
// # References
//
// Redisson 4.7.0, org.redisson.renewal.RenewalTask, renewSlots and run, and LockTask.
var renewalsRedisson = &harness.Variant{
	Name:   "redis-renewals-redisson",
	Doc:    "redis-poll renewed from slot to slot of a cluster: behind a node that hangs locks of others are lost",
	Paper:  "Redisson 4.7.0, RenewalTask",
	Family: harness.Redis,
	Status: harness.Historical,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		rdb, counter, err := wireredis.ConnectAny(at)
		if err != nil {
			return nil, err
		}
		if err := answers(ctx, rdb, at); err != nil {
			return nil, err
		}
		p := newIdle()
		p.rdb = rdb
		k := &renewalTask{p: p, ttl: cmp.Or(at.Lease, defaultTTL), held: make(map[string]*renewed)}
		return &renewalClient{counter, k, nameOf(key)}, nil
	},
}

type renewalClient struct {
	*wireredis.Counter
	task *renewalTask
	name string
}

var (
	_ harness.Namer   = (*renewalClient)(nil)
	_ harness.Counter = (*renewalClient)(nil)
)

func (r *renewalClient) Join(context.Context, int) (harness.Session, error) {
	m, k := newNonceLock(r.task.p, r.name, r.task.ttl), r.task
	m.take = m.script(carelessAcquire)
	release := m.free
	m.free = func(ctx context.Context, nonce string) (bool, error) {
		k.forget(nonce)
		return release(ctx, nonce)
	}
	m.began = func(nonce string, l *plainLease) { k.add(&renewed{r.name, nonce, slotOf(r.name), l}) }
	return m, nil
}

func (r *renewalClient) Close() error { return errors.Join(r.task.p.Close(), r.task.p.rdb.Close()) }

// Named returns another lock of the client.
func (r *renewalClient) Named(key string) harness.Remote {
	return renewalNamed{&renewalClient{r.Counter, r.task, nameOf(key)}}
}

type renewalNamed struct{ *renewalClient }

func (renewalNamed) Close() error { return nil }

type renewalTask struct {
	p   *process
	ttl time.Duration

	mu   sync.Mutex
	held map[string]*renewed // by the owner's nonce
	runs bool
}

type renewed struct {
	name, nonce string
	slot        int
	lease       *plainLease
}

func (k *renewalTask) add(r *renewed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[r.nonce] = r
	if !k.runs {
		k.runs = k.p.spawn(k.run)
	}
}

func (k *renewalTask) forget(nonce string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, nonce)
}

func (k *renewalTask) run() {
	for k.p.pause(k.p.open, k.ttl/3) {
		k.mu.Lock()
		all := slices.Collect(maps.Values(k.held))
		k.runs = len(all) > 0
		k.mu.Unlock()
		if len(all) == 0 {
			return
		}
		round(all, k.renew)
	}
}

// round renews slot by slot, and ends with the first that does not answer.
func round(all []*renewed, renew func(*renewed) error) {
	const bins = 16 // of the hash table
	slices.SortStableFunc(all, func(a, b *renewed) int {
		return cmp.Or(cmp.Compare(a.slot%bins, b.slot%bins), cmp.Compare(a.slot, b.slot))
	})
	for _, r := range all {
		if renew(r) != nil {
			return // the rest waits for the next round
		}
	}
}

// renewalWait is the fraction of a lease after which a request fails: three tries of 3 s of
// 30 s, with pauses of 1.5 s.
const renewalWait = 9. / 20

func (k *renewalTask) renew(r *renewed) error {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(k.p.open, time.Duration(renewalWait*float64(k.ttl)))
	defer cancel()
	n, err := carelessRenew.Run(ctx, k.p.rdb, []string{r.name}, r.nonce, k.ttl.Milliseconds()).Int()
	switch {
	case err != nil:
		return err
	case n == 1:
		r.lease.extend(sent)
	default:
		k.forget(r.nonce)
		r.lease.gone()
	}
	return nil
}

// slotOf returns the Redis Cluster slot of a key: the CRC-16 of the key, or of its hash tag.
func slotOf(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	const polynomial, slots = 0x1021, 16384
	var crc uint16
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= polynomial
			}
		}
	}
	return int(crc) % slots
}
