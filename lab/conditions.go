package lab

import (
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/numfmt"
)

// A condition is a workload of real services for some locks of a default run.
type condition struct {
	locks []string // in the default choice; with all locks also defaults of the same kind
	axes  axes
	all   bool // only with all locks: servers that need a warm-up of their own
}

// loadEvery is the rounds between open loops of a default run: their waits are pooled, so
// fewer, longer windows have enough samples.
const loadEvery = 14

// defaultConditions returns a load as in services, equal on every machine, and durable servers
// 1 ms away, for the fastest lock of each family and some peers.
func defaultConditions(cpus int) []condition {
	return []condition{
		{[]string{"sync-mutex", "ttas-backoff", "mutex"},
			axes{workers: []int{8 * cpus}, loading: loading{rates: []harness.Rate{1e6, 2e6, 4e6}}}, false},
		{[]string{"redis-queue", "zk-handoff", "go-zookeeper-lock", "redsync-1ms"},
			axes{workers: []int{fewRemoteWorkers}, loading: loading{rates: []harness.Rate{1000, 2000, 4000}}}, false},
		{[]string{"redis-queue", "redis-reentrant", "zk-handoff"},
			axes{workers: []int{8}, siting: siting{servers: []int{3}, durable: []bool{true}, delay: []time.Duration{time.Millisecond}}}, true},
	}
}

// takes reports whether v is measured under c: if named, or as a default like a named one.
func (c condition) takes(v *harness.Variant, named []*harness.Variant, byDefault bool) bool {
	if slices.Contains(c.locks, v.Name) {
		return true
	}
	return byDefault && !v.Traits.ReadWrite && v.Traits.Permits <= 1 &&
		slices.ContainsFunc(named, func(x *harness.Variant) bool { return (x.Local == nil) == (v.Local == nil) })
}

// conditionCases returns the cases of locks under the default conditions, except if they
// would need a change of the user's own servers.
func (o runOptions) conditionCases(locks []*harness.Variant, cpus int, few bool) (cases []measure.Case) {
	if !o.hasDefaultConditions() {
		return nil
	}
	for _, c := range defaultConditions(cpus) {
		if c.all && few {
			continue
		}
		named := filter(locks, func(v *harness.Variant) bool { return slices.Contains(c.locks, v.Name) })
		of := filter(locks, func(v *harness.Variant) bool {
			foreign := len(c.axes.servers) > 0 && backend.UsersServer(v.Traits.Needs) != ""
			return !foreign && c.takes(v, named, !few && o.program.byDefault(v))
		})
		cases = append(cases, c.axes.cases(of, cpus)...)
	}
	return cases
}

// openEvery: requested open loops are in every round.
func (o runOptions) openEvery() int {
	if few, _ := o.whole(); few && o.hasDefaultConditions() {
		return loadEvery
	}
	return 1
}

// unconditioned names the default conditions that the user's own servers rule out, or "".
func (o runOptions) unconditioned(p *measure.Plan) string {
	if few, _ := o.whole(); few || !o.hasDefaultConditions() {
		return ""
	}
	envs := filter(result.Each(p.Needs(), backend.UsersServer), func(env string) bool { return env != "" })
	if envs == nil {
		return ""
	}
	return "not measured on durable servers far away, which the lab would have to start: " + numfmt.List(envs, len(envs)) + " " +
		numfmt.Choose(len(envs), "names", "name") + " yours"
}
