package lab

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/adapt"
	wireredis "locklab/internal/wire/redis"
	"locklab/redislock"
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
	Status: harness.Historical,
	Remote: func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		rdb, counter, err := wireredis.ConnectAny(at)
		if err := answers(ctx, rdb, at, err); err != nil {
			return nil, err
		}
		k := &renewalTask{p: newProcess(rdb), ttl: cmp.Or(at.Lease, redislock.DefaultTTL), held: make(map[string]*renewed)}
		return &renewalClient{&plainClient{counter, k.p, k.lock(nameOf(key))}, k}, nil
	},
}

type renewalClient struct {
	*plainClient
	task *renewalTask
}

// Named returns another lock of the client.
func (r *renewalClient) Named(key string) harness.Remote {
	return renewalNamed{&plainClient{r.Counter, r.p, r.task.lock(nameOf(key))}}
}

type renewalNamed struct{ *plainClient }

func (renewalNamed) Close() error { return nil }

func (k *renewalTask) lock(name string) func() harness.Session {
	m := newNonceLock(k.p, name, k.ttl)
	slot := int(k.p.rdb.ClusterKeySlot(k.p.open, name).Val()) // 0 without a cluster
	m.take = m.script(carelessAcquire)
	release := m.free
	m.free = func(ctx context.Context, nonce string) (bool, error) {
		k.forget(nonce)
		return release(ctx, nonce)
	}
	m.began = func(nonce string, l *adapt.Lease) { k.add(&renewed{name, nonce, slot, l}) }
	return shared(m)
}

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
	lease       *adapt.Lease
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
		r.lease.Extend(leaseEnd(sent, k.ttl))
	default:
		k.forget(r.nonce)
		r.lease.Lose(adapt.ErrGone)
	}
	return nil
}
