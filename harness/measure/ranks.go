package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// RankOptions identifies this rank and the meeting point.
type RankOptions struct {
	Rank  int // 0 to Ranks-1
	Ranks int // 1 to harness.MaxRanks

	// Sync names the Redis server: redis://[user:password@]host:port[/db].
	Sync string

	// Job names this run among others at that server: letters, digits, dots, dashes and
	// underscores. "" is "default".
	Job string

	// Assemble is how long JoinRanks waits for the others; 0 is 5 minutes.
	Assemble time.Duration

	// expiry is the life of a claim without renewal; 0 is the meeting's.
	expiry time.Duration
}

// A Rank is a rank's description of itself.
type Rank struct {
	Rank   int
	Host   string // "" is the name of this host; Members has a different one if another machine has the same name
	PID    int    // 0 is this process
	Arch   string // "" is runtime.GOARCH
	Commit string // of the sources it was built from
	Binary string // the hash of its executable
	Schema int    // version of the files it writes
	Clock  string // "" is RankClockName()
}

// String returns the rank and its process, such as "rank 2 (host b, pid 17)".
func (m Rank) String() string {
	return fmt.Sprintf("rank %d (host %s, pid %d)", m.Rank, m.Host, m.PID)
}

const (
	defaultJob      = "default"
	defaultAssemble = 5 * time.Minute
)

var jobName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

func (o RankOptions) complete() (RankOptions, error) {
	o.Job = cmp.Or(o.Job, defaultJob)
	o.Assemble = cmp.Or(o.Assemble, defaultAssemble)
	switch {
	case o.Ranks < 1 || o.Ranks > harness.MaxRanks:
		return o, usage("%d ranks: want 1 to %d", o.Ranks, harness.MaxRanks)
	case o.Rank < 0 || o.Rank >= o.Ranks:
		return o, usage("rank %d of %d: ranks count from 0 to %d", o.Rank, o.Ranks, o.Ranks-1)
	case !jobName.MatchString(o.Job):
		return o, usage("the job is called %.80q: want up to 100 letters, digits, dots, dashes and underscores", o.Job)
	case o.Assemble < 0:
		return o, usage("the wait for the other ranks is %v: want more than 0, or 0 for %v", o.Assemble, defaultAssemble)
	}
	return o, nil
}

func usage(format string, args ...any) error {
	return fmt.Errorf("measure: %w", refuse(format, args...))
}

// A Ranks is a rank among all of its run. Every rank calls its barriers (Share and
// Gather) in the same order, from one goroutine at a time.
type Ranks struct {
	options RankOptions
	meeting *meeting
	run     string // name of the run at the meeting
	members []Rank
	claims  [][]byte // values of their claims
	same    bool     // whether all read the same clock

	context context.Context
	cancel  context.CancelCauseFunc
	leaving sync.Once
	watcher struct {
		sync.WaitGroup
		stop context.CancelFunc
	}
	barrier struct {
		sync.Mutex       // held during one
		next       int   // its number
		broken     error // why there can be no more
	}

	clock RankClock // as last measured

	mu   sync.Mutex
	left map[int]bool // ranks that have left regularly
}

// JoinRanks meets the other ranks and returns when all have exchanged their Members; self
// describes this one. The caller must Leave the group.
//
// Errors that the user can correct have one line and wrap harness.ErrUsage: bad options, no
// answer, a rank that is taken or missing after o.Assemble, another number of ranks or build.
// JoinRanks waits until claims of a killed run have expired. When ctx ends the error is its
// cause.
func JoinRanks(ctx context.Context, o RankOptions, self Rank) (*Ranks, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	b, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	g := &Ranks{options: o, meeting: b, left: make(map[int]bool)}
	g.context, g.cancel = context.WithCancelCause(ctx)
	if err := g.assemble(ctx, self); err != nil {
		g.cancel(err)
		_ = b.leave(ctx) // the claim expires anyway
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // until Leave, whatever ends before
	g.watcher.stop = stop
	g.watcher.Go(func() { g.watch(watching) })
	if err := g.measureClock(ctx); err != nil {
		g.Leave(context.WithoutCancel(ctx), err.Error())
		return nil, err
	}
	return g, nil
}

// CheckRanks returns the error that JoinRanks would return because of o.Sync, or because the
// server does not answer or takes no credentials of the URL. It leaves nothing there.
func CheckRanks(ctx context.Context, o RankOptions) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	b, err := o.connect(ctx)
	if err == nil {
		b.client.Close()
	}
	return err
}

func (m Rank) complete(rank int) (Rank, error) {
	host, err := os.Hostname()
	if m.Host == "" && err != nil {
		return m, fmt.Errorf("measure: %w", err)
	}
	m.Rank, m.Host, m.PID = rank, cmp.Or(m.Host, host), cmp.Or(m.PID, os.Getpid())
	m.Arch, m.Clock = cmp.Or(m.Arch, runtime.GOARCH), cmp.Or(m.Clock, RankClockName())
	return m, nil
}

func distinct(members []Rank) []Rank {
	machine := func(m Rank) string { return result.Rank{Host: m.Host, Clock: m.Clock}.Machine() }
	out := slices.Clone(members)
	for i, m := range members {
		if machine(m) != m.Host && slices.ContainsFunc(members, func(n Rank) bool { return n.Host == m.Host && machine(n) != machine(m) }) {
			out[i].Host += fmt.Sprintf("~%.8s", machine(m))
		}
	}
	return out
}

func sameBuild(members []Rank, self Rank) error {
	text := func(s string) string { return cmp.Or(s, "unknown") }
	for _, m := range members {
		why := ""
		switch {
		case m.Commit != self.Commit:
			why = fmt.Sprintf("another build: commit %s, this is %s", text(m.Commit), text(self.Commit))
		case m.Arch == self.Arch && m.Binary != self.Binary:
			why = fmt.Sprintf("another build of the same commit: binary %s, this is %s", text(m.Binary), text(self.Binary))
		case m.Schema != self.Schema:
			why = fmt.Sprintf("another build: it writes files of schema %d, this of %d", m.Schema, self.Schema)
		}
		if why != "" {
			return usage("%v runs %s: start the same build everywhere", m, why)
		}
	}
	return nil
}

// Members returns all ranks, in their order.
func (g *Ranks) Members() []Rank { return slices.Clone(g.members) }

// Context ends with the context given to JoinRanks, with Leave, and when a rank or the server
// is gone: then its cause is a *LostRankError.
func (g *Ranks) Context() context.Context { return g.context }

var errLeft = errors.New("measure: this rank has left the group")

// Leave ends the group for this rank, its goroutines and connections. An empty why means that
// it is done; any other is the reason for giving up, in the others' errors. After a
// LostRankError, that is the reason. Leave returns within seconds even without the server;
// later calls do nothing. An error means that the others may not have been notified.
func (g *Ranks) Leave(ctx context.Context, why string) (err error) {
	g.leaving.Do(func() {
		lost, _ := errors.AsType[*LostRankError](context.Cause(g.context))
		if lost != nil && why == "" {
			why = lost.Error()
		}
		posting, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		_, told := g.meeting.exchange(posting, g.run, farewells, []byte(why))
		g.watcher.stop()
		g.watcher.Wait()
		gone := g.meeting.leave(ctx)
		g.cancel(errLeft)
		if failed := cmp.Or(told, gone); failed != nil && lost == nil {
			err = fmt.Errorf("measure: the other ranks may not have been notified that this rank left: %w", failed)
		}
	})
	return err
}

type launcher struct {
	name        string
	rank, ranks string // variables
}

// launchers has the innermost first: Slurm starts mpirun, which starts the ranks. Sources:
// docs.open-mpi.org, Environment variables set for MPI applications; MPICH wiki, Using the Hydra
// Process Manager; Flux RFC 13; srun(1), OUTPUT ENVIRONMENT VARIABLES; kubernetes.io, Jobs,
// Completion mode: Indexed, whose manifest sets LOCKLAB_RANKS to its completions.
var launchers = []launcher{
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI", "PMI_RANK", "PMI_SIZE"},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "LOCKLAB_RANKS"},
}

// ReadRank returns this process's rank, the number of ranks, and the job that names their
// run, from the variables of its launcher:
//   - Open MPI: OMPI_COMM_WORLD_RANK and _SIZE;
//   - PMI, set by MPICH and its relatives: PMI_RANK and PMI_SIZE;
//   - Slurm: SLURM_PROCID and SLURM_NTASKS;
//   - a Kubernetes Indexed Job: JOB_COMPLETION_INDEX, and LOCKLAB_RANKS, which its
//     manifest must set since no variable has the number of completions.
//
// The job is Slurm's, with its step, or "". source names the variables, for messages.
// Without any of these, ranks is 0, source "" and err nil.
//
// In the script of sbatch Slurm sets them as well, as for rank 0: start the ranks by srun.
//
// The error wraps harness.ErrUsage if a variable is missing or not a number. It also does if
// PMI and Slurm, both set, disagree, because other means started the ranks inside a Slurm job.
func ReadRank(getenv func(string) string) (rank, ranks int, job, source string, err error) {
	set := slices.DeleteFunc(slices.Clone(launchers), func(l launcher) bool {
		return getenv(l.rank) == "" || l.name == "PMI" && getenv(l.ranks) == "" // PMIx sets the rank alone
	})
	if len(set) == 0 {
		return 0, 0, "", "", nil
	}
	l := set[0]
	if rank, ranks, err = l.read(getenv); err != nil {
		return 0, 0, "", "", err
	}
	if l.name == "PMI" && len(set) > 1 && set[1].name == "Slurm" {
		if r, n, err := set[1].read(getenv); err != nil || r != rank || n != ranks {
			return 0, 0, "", "", usage("%s=%d and %s=%d disagree with %s=%.20q and %s=%.20q: give --rank and --ranks",
				l.rank, rank, l.ranks, ranks, set[1].rank, getenv(set[1].rank), set[1].ranks, getenv(set[1].ranks))
		}
	}
	return rank, ranks, slurmJob(getenv), fmt.Sprintf("%s (%s, %s)", l.name, l.rank, l.ranks), nil
}

func (l launcher) read(getenv func(string) string) (rank, ranks int, err error) {
	if getenv(l.ranks) == "" {
		return 0, 0, usage("%s is set by %s and %s is not: set it to the number of ranks, or give --rank and --ranks", l.rank, l.name, l.ranks)
	}
	if ranks, err = number(getenv, l.ranks); err != nil {
		return 0, 0, err
	}
	if rank, err = number(getenv, l.rank); err != nil {
		return 0, 0, err
	}
	if ranks < 1 || rank >= ranks {
		return 0, 0, usage("%s=%d and %s=%d: want a rank below the number of ranks", l.rank, rank, l.ranks, ranks)
	}
	return rank, ranks, nil
}

func number(getenv func(string) string, name string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(getenv(name)), 10, 31)
	if err != nil || n > harness.MaxRanks {
		return 0, usage("%s=%.40q: want a number up to %d", name, getenv(name), harness.MaxRanks)
	}
	return int(n), nil
}

func slurmJob(getenv func(string) string) string {
	job := getenv("SLURM_JOB_ID")
	if step := getenv("SLURM_STEP_ID"); job != "" && step != "" {
		job += "." + step
	}
	return job
}
