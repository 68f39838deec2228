package result

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// Schema is the version of the format that this package writes. A reader refuses a
// greater one.
const Schema = 1

// Environment, Noise and Warning are types of the internal package machine, for other modules.
type (
	Environment = machine.Environment
	Noise       = machine.Noise
	Warning     = machine.Warning
)

// A Manifest describes the origin of the results of a run.
// It has one field for each key of manifest.json.
type Manifest struct {
	Schema  int      `json:"schema"`
	Command []string `json:"command"`          // the command line that repeats the run
	Commit  string   `json:"commit"`           // of the lab; ends in "+dirty" if the tree was changed
	Binary  string   `json:"binary,omitempty"` // the program itself: SHA-256, hexadecimal
	Seed    uint64   `json:"seed"`             // of the order of the cases
	Rounds  int      `json:"rounds"`           // planned
	Cases   int      `json:"cases"`            // planned in each round

	// OpenEvery is the number of rounds from one with open loops to the next. WindowEvery is the
	// same for the windows of locks that share a process. 0 is 1.
	OpenEvery   int `json:"open_every,omitempty"`
	WindowEvery int `json:"window_every,omitempty"`

	// Flags determine the measurements, Window is the chosen window for local locks. With them
	// and the seed, an interrupted run gets the same plan again.
	Flags  map[string]string `json:"flags,omitempty"`
	Window time.Duration     `json:"window,omitempty"` // ns

	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"` // zero while running, or if the run was killed

	// Tolerance is the relative difference of rates that does not matter; nil is the default.
	Tolerance *float64 `json:"tolerance,omitempty"`

	// Pair, if not empty, is shared with one other run: another build of the lab
	// measured in the same rounds, case by case.
	Pair string `json:"pair,omitempty"`

	// Ranks is the number of ranks that measured together, Rank is this one, from 0, and Job
	// names their run. They are set in a part: see [Manifest.IsPart].
	Rank  int    `json:"rank,omitempty"`
	Ranks int    `json:"ranks,omitempty"`
	Job   string `json:"job,omitempty"`

	// Parts are the parts of a merged run, by rank; Machine is then rank 0's.
	Parts []Part `json:"parts,omitempty"`

	// Interrupted is true if the run ended before its last round.
	Interrupted bool `json:"interrupted,omitempty"`

	Machine  Environment       `json:"machine"`
	Overhead Overhead          `json:"overhead,omitzero"` // of the lab in an acquisition of a local lock
	Versions map[string]string `json:"versions"`          // "redis", "zookeeper", and each module the lab was built with
	Sites    []Site            `json:"sites,omitempty"`   // the servers of the run

	// Sections is the time of one change of each section's data without a lock, in ns.
	Sections map[harness.Section]float64 `json:"sections,omitempty"`

	// Saturations are the saturation points that determined the rates of --rate auto. Until they
	// are found, there are no results, and the rounds, cases and windows are provisional.
	Saturations []Saturation `json:"knees,omitempty"`

	Skipped  []Skip    `json:"skipped,omitempty"`
	Lost     []Loss    `json:"lost,omitempty"`     // planned, without a result
	Warnings []Warning `json:"warnings,omitempty"` // of the machine and of the run as a whole
}

// Overhead is the cost of the lab to a worker, in ns per acquisition, with a lock that
// does nothing and no contention.
type Overhead struct {
	Loop float64 `json:"turn"` // one iteration: counter, last owner, dispatch

	// Log is the cost of the owner log to an acquisition that it keeps; others pay
	// one test. It excludes the move of the log's cache line when the owner changes.
	Log float64 `json:"log"`

	// Timing is the cost of timing to a timed acquisition, which is one in Result.SampleEvery.
	Timing float64 `json:"timing"`
}

// ShortCommit returns m.Commit with the first twelve digits of its hash.
func (m Manifest) ShortCommit() string {
	hash, dirty, _ := strings.Cut(m.Commit, "+")
	return strings.TrimSuffix(fmt.Sprintf("%.12s+%s", hash, dirty), "+")
}

// IsPart reports whether the results belong to one rank and are meaningless until merged
// with the others'.
func (m Manifest) IsPart() bool { return m.Ranks > 1 && len(m.Parts) == 0 }

// IsCopyOf reports whether m and other describe the same results, in two directories.
func (m Manifest) IsCopyOf(other Manifest) bool {
	return m.Pair == "" && other.Pair == "" && !m.Started.IsZero() && m.Started.Equal(other.Started) &&
		m.Seed == other.Seed && m.Rank == other.Rank && m.Machine.Identity(false) == other.Machine.Identity(false)
}

// A Part is one rank of a merged run: its build and its machine.
type Part struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"` // release
	CPU    string `json:"cpu,omitempty"`    // model name
	CPUs   int    `json:"cpus"`             // logical processors that its process may use
	Go     string `json:"go"`               // runtime.Version
	Commit string `json:"commit"`           // of the lab
	Binary string `json:"binary,omitempty"` // the program itself: SHA-256, hexadecimal
}

// ToleranceOrDefault returns the tolerance of m, or the default.
func (m Manifest) ToleranceOrDefault() float64 {
	if m.Tolerance == nil || !(*m.Tolerance >= 0 && *m.Tolerance <= stat.MaxTolerance) {
		return stat.DefaultTolerance
	}
	return *m.Tolerance
}

// Differs returns why results under n and m cannot be combined, in a few words, or "".
func (m Manifest) Differs(n Manifest) string {
	a, b := m.Machine, n.Machine
	unlike := a.Unlike(b, true) // a restarted container has another name
	switch {
	case len(unlike) > 0:
		return fmt.Sprintf("it was measured on another machine: %s %s, this is %s", unlike[0].Name, cmp.Or(unlike[0].A, "unknown"), cmp.Or(unlike[0].B, "unknown"))
	case a.Kernel != b.Kernel:
		return fmt.Sprintf("it was measured under kernel %s, this is %s", a.Kernel, b.Kernel)
	case m.Commit != n.Commit:
		return fmt.Sprintf("it was measured by commit %s, this is %s", cmp.Or(m.Commit, "unknown"), cmp.Or(n.Commit, "unknown"))
	case m.Binary != "" && n.Binary != "" && m.Binary != n.Binary:
		return fmt.Sprintf("it was measured by another build of this program: SHA-256 %.12s, this is %.12s", m.Binary, n.Binary)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		if old, now := m.Versions[name], n.Versions[name]; now != "" && old != now {
			return fmt.Sprintf("it was measured with %s %s, this is %s", name, old, now)
		}
	}
	return ""
}

// A Skip is a requested lock that was not measured, and the reason.
type Skip struct {
	Lock   string `json:"lock"`
	Reason string `json:"reason"` // one line, with a remedy

	// Conditions, such as "servers=5", are the server conditions without a measurement, or "".
	Conditions string `json:"conditions,omitempty"`
}

// Name returns the lock, with the conditions.
func (s Skip) Name() string {
	if s.Conditions == "" {
		return s.Lock
	}
	return s.Lock + " with " + s.Conditions
}

// A Site is servers of a run: their configuration, and their distance from the workers.
type Site struct {
	Kind        string        `json:"kind"`                 // of server
	Conditions  string        `json:"conditions,omitempty"` // as in the names of cases, such as "servers=3 delay=2ms"
	Version     string        `json:"version"`
	Servers     int           `json:"servers"`               // number of servers with a copy of the same data
	Independent int           `json:"independent"`           // number of such groups
	Settings    string        `json:"settings,omitempty"`    // in the servers' own words; "" for the user's servers
	FileSystem  string        `json:"file_system,omitempty"` // that durable servers write to
	SyncTime    float64       `json:"sync,omitempty"`        // time to make a small write durable, median, ns
	Delay       time.Duration `json:"delay,omitempty"`

	// The medians of bare requests to the first server before the run, ns: directly,
	// through the delaying proxy without its delay, and with it. 0 is not measured.
	Direct  float64 `json:"direct,omitempty"`
	Proxied float64 `json:"proxied,omitempty"`
	Delayed float64 `json:"delayed,omitempty"`

	WarmUp *WarmUp `json:"warm_up,omitempty"` // before the run; nil is no warm-up
}

// A WarmUp is the load on servers before any measurement, because they compile themselves
// while they serve.
type WarmUp struct {
	Took   time.Duration `json:"took"`
	First  float64       `json:"first"`  // the servers' processor time per acquisition at first, ns
	Last   float64       `json:"last"`   // and at the end
	Steady bool          `json:"steady"` // it no longer fell
}

// A Loss is a planned case and round without a result, and the reason.
type Loss struct {
	Case   string `json:"case"`   // its benchmark name, such as "lock=mcs/workers=8/hold=100ns"
	Round  int    `json:"round"`  // 0 is the first
	Reason string `json:"reason"` // one line
}

func (l Loss) String() string { return fmt.Sprintf("%s, round %d: %s", l.Case, l.Round+1, l.Reason) }

// A Run is all data of a run on disk.
// It has one field for each kind of record in the directory.
type Run struct {
	Dir      string // directory of the files; "" if not read from files
	Manifest Manifest
	Results  []*Result // in the order they were measured

	// Findings are the results of the experiments about the hardware, the last of
	// each. Samples are the finished parts of long ones.
	Findings []*Finding
	Samples  []Sample

	// Faults has one outcome for each scenario and lock, in order of appearance.
	Faults []*FaultResult

	// Simulations are the last of each machine, lock and workload; Machines are the models,
	// one of each name. A different model of the same name replaces its simulations.
	Simulations []*Simulation
	Machines    []*ModelMachine

	// Require, if not empty, are guarantees that a distributed lock must have shown
	// to be recommended: requested by the reader, not read from a file.
	Require []Guarantee

	// Baseline is the lock of the tables, requested by the reader; "" is the default.
	Baseline string

	// RoundTrips are the round trips for predictions, requested by the reader.
	RoundTrips []time.Duration

	// Contenders are the numbers of contenders to predict, requested by the reader.
	Contenders []int

	// Chaos are other runs that contributed to Faults: see [Run.AddFaults].
	Chaos []Source

	// Published describes the project's campaign in Faults ([Run.AddPublished]), or is "".
	Published string

	Damage []string // unreadable lines, one sentence each; the rest is kept

	whole int64  // bytes of results.jsonl up to the end of its last whole line
	last  []byte // the beginning of a line after it
}

// mostDamage is the number of unreadable lines that [Run.DamageSummary] shows.
const mostDamage = 5

// DamageSummary returns the first sentences of r.Damage, and the number of the others.
func (r *Run) DamageSummary() []string {
	more := len(r.Damage) - mostDamage
	if more < 2 {
		return r.Damage
	}
	return append(slices.Clone(r.Damage[:mostDamage]), fmt.Sprintf("%d more lines cannot be read", more))
}

// JSONSchema describes every line of results.jsonl that this version writes, in
// JSON Schema, draft 2020-12.
//
//go:embed results.schema.json
var JSONSchema []byte

// A Saturation is the saturation point of a lock under a workload, found by short probes before
// the measurement. It determines the rates that the run measures; those locate the point
// that a report gives.
type Saturation struct {
	Lock     string           `json:"lock"`
	Workload harness.Workload `json:"workload"` // without its rate and its windows

	Closed  float64      `json:"closed"`             // acquisitions per second of the closed loop with as many workers
	Rest    harness.Rate `json:"rest,omitempty"`     // the small load that counts as unloaded
	RestP99 float64      `json:"rest_p99,omitempty"` // of the waits there, ns
	UpTo    harness.Rate `json:"up_to,omitempty"`    // the greatest probed rate that the lock sustains
	Over    harness.Rate `json:"over,omitempty"`     // the least that it does not sustain
	Rule    Limit        `json:"rule,omitempty"`     // the limit that it exceeds there

	Rates  []harness.Rate `json:"rates"`  // to be measured by the run
	Trials []Trial        `json:"trials"` // the probes of open loops, in order

	// Missing is the reason without a saturation point, to follow the name of the lock, or "".
	Missing string `json:"missing,omitempty"`

	// Broken is the promise that the lock broke in a probe and so ended the search, or "".
	Broken string `json:"broken,omitempty"`
}

// SaturationFigures is the number of significant figures of a rate chosen by a Saturation.
const SaturationFigures = 2

// A Trial is one probe of a search for a saturation point.
type Trial struct {
	Rate    harness.Rate `json:"rate"`
	Granted float64      `json:"granted"` // percent of the requests
	P99     float64      `json:"p99"`     // of the waits, or the least that the clock resolves, ns
	Waits   int64        `json:"waits"`   // number of waits behind P99
	Over    Limit        `json:"over,omitempty"`
}

// String describes the result of the probe.
func (t Trial) String() string {
	text := numfmt.Plain(fmt.Sprintf("%v: %.0f %% granted, p99 %s", t.Rate.Rounded(SaturationFigures), t.Granted, numfmt.Nanos(t.P99)))
	if t.Over != "" {
		text += ", too much"
	}
	return text
}

// A Limit ends the range of loads that a lock sustains; "" is no limit.
type Limit string

// The limits: see result.LeastGoodput and result.MostSlowdown.
const (
	LimitGranted Limit = "granted" // the lock falls behind: it grants too few of the requests
	LimitP99     Limit = "p99"     // waits are too long
)

// String describes the saturation point, or why it is missing, for a line that names the lock.
func (k Saturation) String() string {
	if k.Missing != "" {
		return "it " + k.Missing
	}
	up, over := k.UpTo.Rounded(SaturationFigures), k.Over.Rounded(SaturationFigures)
	if k.Rule == LimitGranted {
		return fmt.Sprintf("between %v and %v it falls behind: it grants less than %d %% of the requests", up, over, LeastGoodput)
	}
	return numfmt.Plain(fmt.Sprintf("between %v and %v p99 of the waits exceeds %d times the unloaded p99, %s at %v",
		up, over, MostSlowdown, numfmt.Nanos(k.RestP99), k.Rest.Rounded(SaturationFigures)))
}

// Each returns f of each member of vs; nil without one.
func Each[V, T any](vs []V, f func(V) T) (out []T) {
	for _, v := range vs {
		out = append(out, f(v))
	}
	return out
}

// GroupBy returns vs in groups with one key, in the order of their first members.
func GroupBy[K comparable, V any](vs []V, key func(V) K) (out [][]V) {
	at := make(map[K]int)
	for _, v := range vs {
		i, known := at[key(v)]
		if !known {
			i = len(out)
			at[key(v)], out = i, append(out, nil)
		}
		out[i] = append(out[i], v)
	}
	return out
}
