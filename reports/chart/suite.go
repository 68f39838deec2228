package chart

import (
	"fmt"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/nearest"
)

// Suite lists every chart in the order of the report.
var Suite = []*Chart{
	RankingLocal, ThroughputLocal, WaitLocal, LoadLocal, JainLocal,
	CostsLocal,
	HoldLocal, Section, ReadLocal, Spread, ThinkLocal, Pinning, WaitPolicy, Garbage,
	RankingRemote, HandoversRemote, RequestsRemote, WaitRemote, LoadRemote, JainRemote,
	CostsRemote,
	HoldRemote, ReadRemote, Clients, ThinkRemote,
	Servers, Durable, TLS, Delay,
}

// Charts returns the names of the charts of [Suite] for run, without absent kinds of locks,
// dimensions with one value, and optional charts without data.
func Charts(run *result.Run) (names []string) {
	gs := Groups(Sanitize(run))
	for _, c := range Suite {
		g := c.Subject(gs)
		if g != nil && (c.Varies == nil && !c.Optional || c.Draw(g).Height > 0) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Find returns the chart called name. It wraps harness.ErrUsage and lists the available names.
func Find(name string, others ...string) (*Chart, error) {
	var names []string
	for _, c := range Suite {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return nil, fmt.Errorf("%w: there is no chart %q%s; there are %s", harness.ErrUsage, name, nearest.Hint(name, append(names, others...)), strings.Join(append(names, others...), ", "))
}
