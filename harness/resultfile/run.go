package resultfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/machine"
)

// Schema is the version of the format that this package writes. A reader
// refuses a greater one.
const Schema = 1

// A Manifest says where the results of a run come from.
type Manifest struct {
	Schema  int      `json:"schema"`
	Command []string `json:"command"`          // the command line that repeats the run
	Commit  string   `json:"commit"`           // of the lab; ends in "+dirty" if the tree was changed
	Binary  string   `json:"binary,omitempty"` // the program itself: SHA-256, hexadecimal
	Seed    uint64   `json:"seed"`             // of the order of the cases
	Rounds  int      `json:"rounds"`           // planned
	Cases   int      `json:"cases"`            // planned in each round

	// OpenEvery, if more than 1, is of how many rounds the first has the open loops too:
	// see [harness.Workload.RoundsOf].
	OpenEvery int `json:"open_every,omitempty"`

	// Flags are those given to the command that say what to measure, and Window is
	// the window that it chose for local locks: with them and the seed, an
	// interrupted run is planned again as it was.
	Flags  map[string]string `json:"flags,omitempty"`
	Window time.Duration     `json:"window,omitempty"` // ns

	// Windows are the same by the parts that the time of the run was divided among.
	Windows map[string]time.Duration `json:"windows,omitempty"` // ns

	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"` // zero while running, or if the run was killed

	// Margin is the relative difference of rates that does not matter; nil is the default.
	Margin *float64 `json:"margin,omitempty"`

	// Pair, if not empty, is shared with one other run: that of another build of
	// the lab which was measured in the same rounds, case by case.
	Pair string `json:"pair,omitempty"`

	// Of a part, the results of one rank of a run that several measured together, Ranks is
	// how many there were, Rank which of them this is, from 0, and Job the name that they
	// gave the run. [Manifest.IsPart] reports whether it is one.
	Rank  int    `json:"rank,omitempty"`
	Ranks int    `json:"ranks,omitempty"`
	Job   string `json:"job,omitempty"`

	// Parts are those that the run was merged from, in the order of their ranks; Machine is
	// then that of rank 0.
	Parts []Part `json:"parts,omitempty"`

	// Interrupted is true if the run ended before its last round.
	Interrupted bool `json:"interrupted,omitempty"`

	Machine  machine.Environment `json:"machine"`
	Overhead harness.Overhead    `json:"overhead,omitzero"` // of the lab itself, in an acquisition of a local lock
	Versions map[string]string   `json:"versions"`          // "redis", "zookeeper", and each module the lab was built with
	Sites    []Site              `json:"sites,omitempty"`   // the servers of the run

	// Sections is what one change of the data of each section takes by one worker
	// without a lock, in ns.
	Sections map[harness.Section]float64 `json:"sections,omitempty"`

	// Knees are those that the run found to choose rates by: one for each lock and
	// workload with --rate auto.
	Knees []Knee `json:"knees,omitempty"`

	// Seeking is the knee that the run was looking for when this was written, as far as it
	// was; nil if it had found all. Until then there are no results, and the planned rounds,
	// cases and windows are provisional.
	Seeking *Knee `json:"seeking,omitempty"`

	Skipped  []Skip            `json:"skipped,omitempty"`
	Lost     []Loss            `json:"lost,omitempty"`     // planned, and without a result
	Warnings []harness.Warning `json:"warnings,omitempty"` // of the machine and of the run as a whole
}

// IsPart reports whether the results are those of one rank, which say nothing by
// themselves: they are to be merged with those of the others.
func (m Manifest) IsPart() bool { return m.Ranks > 1 && len(m.Parts) == 0 }

// A Part is one rank of a run that was merged: what measured it.
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

// PracticalMargin returns the margin of m, or the default.
func (m Manifest) PracticalMargin() float64 {
	if m.Margin == nil || !(*m.Margin >= 0 && *m.Margin <= stat.MaxMargin) {
		return stat.DefaultMargin
	}
	return *m.Margin
}

// Differs says in a few words why results measured under n do not belong beside
// those of m, or nothing if they do.
func (m Manifest) Differs(n Manifest) string {
	a, b := m.Machine, n.Machine
	unlike := a.Unlike(b, true) // a container that starts again has another name
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

// A Skip is a lock that was asked for and not measured, and why.
type Skip struct {
	Lock   string `json:"lock"`
	Reason string `json:"reason"` // one line, with what to do about it

	// Conditions, if not empty, are those of the servers in which it was not measured,
	// such as "servers=5": in others it was.
	Conditions string `json:"conditions,omitempty"`
}

// Name returns the lock, with the conditions.
func (s Skip) Name() string {
	if s.Conditions == "" {
		return s.Lock
	}
	return s.Lock + " with " + s.Conditions
}

// A Site is servers of a run: how they were set up, and how far from the workers.
type Site struct {
	Kind        string        `json:"kind"`                 // of server
	Conditions  string        `json:"conditions,omitempty"` // as in the names of cases, such as "servers=3 delay=2ms"
	Version     string        `json:"version"`
	Servers     int           `json:"servers"`               // that keep one copy each of the same data
	Independent int           `json:"independent"`           // how many such there are
	Settings    string        `json:"settings,omitempty"`    // in the servers' own words; "" of the user's servers
	FileSystem  string        `json:"file_system,omitempty"` // that durable servers write to
	SyncTime    float64       `json:"sync,omitempty"`        // how long that takes to keep a small write, median, ns
	Delay       time.Duration `json:"delay,omitempty"`

	// The medians of bare requests to the first server before the run, ns: directly,
	// through the proxy that delays without its delay, and with it. 0 is not measured.
	Direct  float64 `json:"direct,omitempty"`
	Proxied float64 `json:"proxied,omitempty"`
	Delayed float64 `json:"delayed,omitempty"`

	WarmUp *WarmUp `json:"warm_up,omitempty"` // before the run; nil is none
}

// A WarmUp is what servers were put to before anything was measured, because they
// compile themselves while they serve.
type WarmUp struct {
	Took   time.Duration `json:"took"`
	First  float64       `json:"first"`  // what an acquisition took of the servers' processor time at first, ns
	Last   float64       `json:"last"`   // and in the end
	Steady bool          `json:"steady"` // it no longer fell
}

// A Loss is a case and round that was to be measured and has no result, and why.
type Loss struct {
	Case   string `json:"case"`   // its benchmark name, such as "lock=mcs/workers=8/hold=100ns"
	Round  int    `json:"round"`  // 0 is the first
	Reason string `json:"reason"` // one line
}

func (l Loss) String() string { return fmt.Sprintf("%s, round %d: %s", l.Case, l.Round+1, l.Reason) }

// A Run is everything that a run left on disk.
type Run struct {
	Dir      string // that it was read from; "" if it was not
	Manifest Manifest
	Results  []*harness.Result // in the order they were measured

	// Findings are what the experiments about the hardware found, one of each:
	// the last. Samples are the finished parts of those that take long.
	Findings []*harness.Finding
	Samples  []harness.Sample

	// Faults are what became of locks in failure scenarios: one of each scenario and
	// lock, in the order in which they came, all tries of it added up.
	Faults []*harness.FaultResult

	// Simulations are what models of machines expect of locks: one of each machine, lock
	// and workload, the last. They are no results. Machines are those models, one of each
	// name; a later one of a name that differs took the place of the simulations, too.
	Simulations []*harness.Simulation
	Machines    []*harness.ModelMachine

	// Require, if not empty, are guarantees that a lock kept by servers must have been
	// seen to have to be recommended: asked for by the reader, not read from a file.
	Require []harness.Guarantee

	// Baseline is the lock that tables compare the others with; "" is the default: asked for,
	// not read from a file.
	Baseline string

	// RoundTrips, if not empty, are those at which the reader wants predictions for locks
	// kept by servers: asked for, not read from a file.
	RoundTrips []time.Duration

	// Contenders, if not empty, are the numbers of contenders to predict these locks with:
	// asked for, not read from a file.
	Contenders []int

	// Chaos are the other runs that Faults come from too: see [Run.AddFaults].
	Chaos []Source

	Damage []string // lines that could not be read, one sentence each; the rest is kept
}
