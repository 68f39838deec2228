package chaos

import (
	"context"
	"slices"

	"locklab/harness"
	"locklab/internal/backend"
)

// redisWaits test WAIT: clients require the confirmation of replicas before they consider
// a lock theirs.
var redisWaits = []*Scenario{waitCut, waitOther, waitMinReplicas}

const (
	waitLocks = "redis-wait|redis-poll-5ms"

	// waitLease outlives a promotion on a busy machine.
	waitLease = 3 * TTL
)

// waits completes a scenario of these locks. The clients acquire the lock before the
// first replica is cut off; prepare may change the configuration of the primary.
func waits(s Scenario, replicas int, prepare func(ctx context.Context, r *replicated)) *Scenario {
	s.Locks = waitLocks
	s.Try = func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{Replicas: replicas}, true)
		of := r.clients(ctx, waitLease)
		t.Each(func(s *Subject) { check(warm(ctx, of.first[s], of.next[s])) })
		r.caughtUp(ctx)
		t.Fault("the replica that will be promoted is cut off")
		r.link.Partition(true)
		prepare(ctx, r)
		of.fail(ctx)
	}
	w := promotions(s)
	w.Source = "Redis documentation, WAIT, Consistency and WAIT, and Replication, Allow writes only with N attached replicas"
	return w
}

var waitCut = waits(Scenario{
	Name:     "redis-wait-cut",
	Question: "Does WAIT prevent two holders when the only replica that can confirm a grant has not heard of it?",
	Fault:    "the primary is cut off from its only replica; a client asks it for the lock for a second; then it is killed and the replica is promoted",
	Expect: []Expectation{
		{"redis-wait", nil, "no replica confirms the grant, and the client gives it back"},
		{".*", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "the replica has not heard of the grant"},
	},
}, 1, func(context.Context, *replicated) {})

var waitOther = waits(Scenario{
	Name:     "redis-wait-other-replica",
	Question: "Does WAIT, with min-replicas-to-write, prevent two holders when another replica takes over than has confirmed the grant?",
	Fault:    "the primary, with min-replicas-to-write 1, is cut off from one of two replicas, and grants the lock, which the other one confirms; then it is killed and the replica that was cut off is promoted",
	Expect: []Expectation{
		{"redis-wait", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "a majority has confirmed the grant and one replica is enough for the primary, but nothing makes that one its successor"},
		{".*", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "the replica has not heard of the grant"},
	},
}, 2, func(ctx context.Context, r *replicated) { check(r.primary.Do(ctx, minReplicasArgs...).Err()) })

var waitMinReplicas = waits(Scenario{
	Name:     "redis-wait-all-replicas",
	Question: "Does min-replicas-to-write for all replicas prevent what WAIT for a majority does not?",
	Fault:    "the primary, with min-replicas-to-write 2 and a lag of a second, is cut off from one of two replicas; once it has noticed that a client asks it for the lock for a second; then it is killed and the replica that was cut off is promoted",
	Expect: []Expectation{
		{"redis-wait", nil, "the primary refuses the write (NOREPLICAS) and no lock, until all replicas are there again"},
		{".*", nil, "the primary refuses the write (NOREPLICAS), and the client does not hold the lock"},
	},
}, 2, func(ctx context.Context, r *replicated) {
	args := slices.Clone(minReplicasArgs)
	args[3] = "2"
	check(r.primary.Do(ctx, args...).Err())
	check(r.says(ctx, r.primary, "min_slaves_good_slaves:1"))
})
