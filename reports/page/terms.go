package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/result"
	"locklab/reports/chart"
)

// A term defines a column of figures that is not a metric, with the source of its figures.
type term struct {
	Name  string   // the term, and the head of its column
	heads []string // further heads; one with a trailing space is a prefix
	Doc   string
}

// terms lists every term, each a word of docs/glossary.md, in the order of a page.
var terms = []term{
	{"situation", []string{"requirement"}, "the degree of contention: how many workers want the lock at once, compared with the number of processors, and how long they hold it"},
	{"guarantee", []string{"what it tolerates"}, "of a distributed lock: each guarantee with the failures of the tries of the failure scenario tried least, and their upper bound (one-sided, 95 %); if it is broken, of one that broke it; ✓ no violation in 59 tries or more of each scenario, 0/3 none in 3 tries, ✗ broken, ○ possible but not shown, – not claimed, ? not tested"},
	{"acquisition", []string{"rate", "per second"}, "the rate is how often a second the lock was taken, by all workers together (metric throughput); of contended distributed locks how often it passed to another worker (metric handovers); the median of the rounds"},
	{"worker", []string{"workers"}, "how many workers took the lock; each is a contender with a handle of its own"},
	{"round", []string{"rounds", "times"}, "how often the case was measured; each round has a new process, which the locks of one workload share; a figure is the median of its rounds; a broken rule has the number of its round, and how often it was broken in it"},
	{"interval", nil, "where the median lies with 95 % confidence, by order statistics of the rounds; of a ratio by the paired t-test of logarithms; there is none with fewer than six"},
	{"baseline", []string{"why", "workers "}, "why a lock is recommended: it is the default, or significantly faster than the default by more than the tolerance. Of distributed locks, it is the fastest one that tolerated the most failures. A column of workers has the rate of the lock divided by the rate of the baseline in the same rounds, with its interval. The baseline has its own rate"},
	{"wait", []string{"waiting", "longest"}, "waiting is p99 of the wait of a worker at a random moment of its waiting: waits count by their length, so a lock that one worker keeps does not hide the others' waits; longest is the longest time of all rounds in which some worker finished no acquisition (metric unserved), or the longest timed wait, which may end after the window"},
	{"quantile", []string{"samples", "p1", "p25", "p50", "p75", "p90", "p99", "p99.9"}, "this percentage of the samples (timed acquisitions) of all rounds together lies below the figure; it is quoted only with 10 samples or more above it"},
	{"offered load", []string{"load"}, "acquisitions a second that were requested, over all workers (option --rate of locklab run)"},
	{"closed loop", nil, "the rate that the same workers reach if each asks again at once"},
	{"saturation point", nil, "the greatest load with 95 % granted and p99 waits at most ten times the unloaded p99; brackets have the neighbouring loads of the run"},
	{"violation", []string{"violations in 1000", "broken in 1000", "faults", "tries", "bound", "bound (95 %)"}, "faults with two holders, a stale write or a token that fell, in 1000; each fault was made in a new try; the bound is the greatest share of faults that may show an anomaly, at 95 % confidence: exact (Clopper and Pearson), one-sided"},
	{"outage", []string{"outage p50", "greatest"}, "how long the lock was free and not granted after a fault: the median and the greatest of the faults"},
	{"lease", []string{"least notice"}, "the least notice is the shortest time from a holder's notice that it lost the lock to the next grant"},
	{"request", []string{"requests alone", "requests behind others", "requests per handover"}, "messages from clients, counted in a dry run: one client's for an acquisition and its release; with three clients in turn, from one release to the next, and from a release to the next grant; \"polls\" if waiters ask again after a pause"},
	{"round trip", []string{"round trips alone", "round trips of a release", "round trips behind others", "round trips per handover"}, "round trips to a server in sequence, counted in a dry run: until a lone client has the lock; until its release returns; until a request waits, plus those from the release before it to its grant; from a release to the next grant only"},
	{"predicted", []string{"alone, near", "handover, near", "behind others, near", "part", "near", "range", "measured", "error"}, "a part of an acquisition: the wait of one worker (metric wait-p50), a handover among several (metric handover-time), or the wait of one of several. The prediction uses the round trips in sequence, and the median near the servers, without a delay. Its range is from contenders that add nothing to contenders that add as much as near the servers. Measured is the median of the rounds with that delay. The error is the prediction divided by the measured time, less one"},
	{"grant", []string{"at", "event", "token"}, "of one try: when each event happened, of which worker, and the fencing token of that acquisition"},
}

var modelTerms = []term{
	{"simulated", []string{"least of seeds", "greatest of seeds"}, "what a model of a machine expects, which was not measured: the median of its seeds, the least and the greatest"},
}

// headMetrics are heads of columns that are a metric under another name.
var headMetrics = map[string]*result.Metric{
	"p99 wait": result.P99,
	"CPU":      result.CPU,
	"requests": result.Requests,
	"Jain":     result.Jain,
}

// Link returns the address of t in a page.
func (t term) Link() string { return "term-" + strings.ReplaceAll(t.Name, " ", "-") }

func anchor(m *result.Metric) string { return "metric-" + m.Name }

func link(p chart.Heading) string {
	if m := cmp.Or(p.Metric, headMetrics[p.Text]); m != nil {
		return anchor(m)
	}
	for _, t := range slices.Concat(terms, modelTerms) {
		if t.Name == p.Text || slices.ContainsFunc(t.heads, func(h string) bool {
			return h == p.Text || strings.HasSuffix(h, " ") && strings.HasPrefix(p.Text, h)
		}) {
			return t.Link()
		}
	}
	return ""
}

// A glossary defines the metrics and other columns of charts and tables.
type glossary struct {
	Metrics []*result.Metric
	Terms   []term
	Lines   string // a command that shows the lines of a point
}

// newGlossary defines every term of a report of run and all metrics of [result.Metrics]. For
// a run without a result it defines the terms only.
func newGlossary(run *result.Run) (g glossary) {
	g.Terms = terms
	if len(run.Simulations) > 0 {
		g.Terms = slices.Concat(terms, modelTerms)
	}
	if len(run.Results) == 0 {
		return g
	}
	lock := run.Results[0].Lock
	name := strings.TrimSuffix(lock.Name, chart.MarkedName("", lock.Status))
	g.Lines = linesOf(name, run.Results[0].Workload.Workers)
	g.Metrics = result.Metrics
	return g
}

func linesOf(lock string, workers int) string {
	return "jq -c " + quote(fmt.Sprintf("select(.lock.name == %s and .workload.workers == %d)", strconv.Quote(lock), workers)) + " " + result.ResultsName
}

// MetricsText explains the way from a figure to its lines.
func (glossary) MetricsText() string {
	return "Each figure in the charts and tables is a metric of lines in results.jsonl: one line for each lock, workload and round. " +
		"\"locklab export\" writes every metric of every line, under its unit. The lines behind one point are those of its lock and workload, such as:"
}

// TermsText introduces the terms.
func (glossary) TermsText() string {
	return "What the column heads mean, and how their figures are computed. docs/methodology.md has the reasons."
}
