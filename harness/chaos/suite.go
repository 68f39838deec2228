package chaos

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
)

// Suite lists every scenario.
var Suite = slices.Concat(clientScenarios, connScenarios, releaseScenarios, cutScenarios, noiseScenarios, waiterScenarios, readerScenarios, redissonScenarios, redisScenarios, clusterScenarios, zooScenarios, hazardScenarios)

const (
	remoteLocks = "zk-.*|redis-.*|go-zookeeper-lock|curator-.*|redsync.*|bsm-redislock-.*|rueidislock.*"

	// zooLocks keep ephemeral tickets, which end with their client's session.
	zooLocks = "zk-.*|go-zookeeper-lock|curator-.*"
)

// Estimate returns the number of tries left and their approximate duration. A try counts
// once for all locks that share it.
func (p *Plan) Estimate() (tries int, d time.Duration) {
	for _, s := range p.Scenarios {
		n := p.left(s)
		tries, d = tries+n, d+time.Duration(n)*cmp.Or(time.Duration(s.Takes)*time.Second, s.Deadline)
	}
	d /= time.Duration(max(1, p.Parallel))
	if p.Budget > 0 {
		d = min(d, p.Budget)
	}
	return tries, d
}

func (p *Plan) left(s *Scenario) (tries int) {
	for _, group := range p.groups(s) {
		most := 0
		for _, v := range group {
			count := 0
			if p.Done != nil {
				count, _ = p.Done(s.Name, v.Name)
			}
			if v.Unavailable == "" {
				most = max(most, p.tries(s)-count)
			}
		}
		tries += most
	}
	return tries
}

// publishedCounts are the counts of the project's own campaign: make chaos renews them.
//
//go:embed published.csv
var publishedCounts []byte

// Published returns the outcomes of the project's own campaign for the given locks: counts
// without times and histories. A row of an unknown scenario is left out.
func Published(locks []result.Lock) (out []*result.FaultResult, err error) {
	rows, err := result.ReadPublished(bytes.NewReader(publishedCounts))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		i := slices.IndexFunc(locks, func(l result.Lock) bool { return l.Name == row.Lock.Name })
		k := slices.IndexFunc(Suite, func(s *Scenario) bool { return s.Name == row.Scenario })
		if i < 0 || k < 0 {
			continue
		}
		s := Suite[k]
		row.Question, row.Fault, row.Source, row.Tests = s.Question, s.Fault, s.Source, s.Tests
		row.Lock, row.Expected = locks[i], s.Expected(row.Lock.Name)
		out = append(out, row)
	}
	return out, nil
}

// PublishedFrom describes the campaign in a line: its commit, date, processor and clients.
func PublishedFrom() string {
	line, _, _ := bytes.Cut(publishedCounts, []byte("\n"))
	return strings.TrimPrefix(string(line), "# ")
}

func now() int64 { return machine.Monotonic() }
