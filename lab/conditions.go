package lab

import (
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/runner"
	"locklab/internal/backend"
	"locklab/internal/numfmt"
)

// A condition is what a default run measures beside closed loops on a server next door:
// some locks as services meet them.
type condition struct {
	locks []string // in the default choice; with all locks also those for use of the same kind
	axes  axes
}

// loadEvery is of how many rounds of a default run the first has its open loops too:
// their waits are of all rounds together, so a few rounds with longer windows have enough
// of them, and clients that connect less often.
const loadEvery = 7

// defaultConditions are the load at which services ask, the same on every machine, so
// that runs can be compared; and servers that lose nothing, a millisecond away.
// sync-mutex stands beside the fastest of each family, and two of ours beside two peers.
func defaultConditions(cpus int) []condition {
	return []condition{
		{[]string{"sync-mutex", "ttas-backoff", "spin-then-park"},
			axes{workers: []int{8 * cpus}, loading: loading{rates: []harness.Rate{1e6, 2e6, 4e6}}}},
		{[]string{"redis-queue", "zk-handoff", "go-zookeeper-lock", "redsync-1ms"},
			axes{workers: most(remoteWorkers), loading: loading{rates: []harness.Rate{1000, 2000, 4000}}}},
		{[]string{"redis-queue", "redis-reentrant", "zk-handoff"},
			axes{workers: []int{8}, servers: []int{3}, durable: []bool{true}, delay: []time.Duration{time.Millisecond}}},
	}
}

// takes reports whether v is measured under c: it is named, or, with all locks, it is for
// use like one that is.
func (c condition) takes(v *harness.Variant, named []*harness.Variant, few bool) bool {
	if slices.Contains(c.locks, v.Name) {
		return true
	}
	return !few && v.Status == harness.Recommended && !v.Traits.ReadWrite && v.Traits.Permits <= 1 &&
		slices.ContainsFunc(named, func(x *harness.Variant) bool { return (x.Local == nil) == (v.Local == nil) })
}

// conditioned returns the cases of locks under the default conditions: none if the user
// says under which conditions to measure, and none of servers that are the user's where
// others would have to be set up.
func (o runOptions) conditioned(locks []*harness.Variant, cpus int, few bool) (cases []runner.Case) {
	if o.particular() {
		return nil
	}
	for _, c := range defaultConditions(cpus) {
		of := slices.DeleteFunc(slices.Clone(locks), func(v *harness.Variant) bool {
			foreign := len(c.axes.servers) > 0 && backend.UsersServer(v.Traits.Needs) != ""
			return foreign || !c.takes(v, named(locks, c.locks), few)
		})
		cases = append(cases, c.axes.cases(of, cpus)...)
	}
	return cases
}

// named returns those of locks that are called so.
func named(locks []*harness.Variant, names []string) []*harness.Variant {
	return slices.DeleteFunc(slices.Clone(locks), func(v *harness.Variant) bool { return !slices.Contains(names, v.Name) })
}

// particular reports whether the user says more of the cases than which locks.
func (o runOptions) particular() bool {
	given := o.workers + o.clients + o.hold + o.think + o.wait + o.pin + o.gomaxprocs + o.reads + o.spread + o.gc + o.section +
		o.servers + o.durable + o.tls + o.delay + o.rate + o.arrivals + o.deadline
	return given != "" || o.duration > 0 || o.plain || o.ranks > 1
}

// openEvery returns of how many rounds the first has the open loops too: what the user
// asks for is in every round.
func (o runOptions) openEvery() int {
	if few, _ := o.whole(); few && !o.particular() {
		return loadEvery
	}
	return 1
}

// unconditioned says in a line which of the default conditions the user's servers leave
// out, or "".
func (o runOptions) unconditioned(p *runner.Plan) string {
	if _, whole := o.whole(); !whole || o.particular() {
		return ""
	}
	var envs []string
	for _, kind := range p.Needs() {
		if env := backend.UsersServer(kind); env != "" {
			envs = append(envs, env)
		}
	}
	if envs == nil {
		return ""
	}
	return "not measured on durable servers far away, which the lab would have to start: " + numfmt.List(envs, len(envs)) + " " +
		numfmt.Choose(len(envs), "names", "name") + " yours"
}
