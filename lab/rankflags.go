package lab

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
	"locklab/harness/measure"
)

// rankFlags say which of the processes that share the cases of a run this one is.
type rankFlags struct {
	rank, ranks int
	sync, job   string
	assemble    time.Duration
	spawn       bool

	host string // of this rank, as the others know it

	measured bool // all cases, as far as they could be: the others need not stop when this rank leaves
}

const (
	syncFlag = "sync"

	// syncVariable is for a URL with a password: all users of a host can read command lines.
	syncVariable = "LOCKLAB_SYNC"

	// commandVariable is the command line of --spawn, as JSON, for its ranks.
	commandVariable = "LOCKLAB_SPAWNED_BY"
)

func (o *rankFlags) declare(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(count(&o.ranks, 1, 1, harness.MaxRanks), "ranks", "processes that share the workers of each case; on this host or several; --workers and --rate are totals")
	f.Var(count(&o.rank, 0, 0, harness.MaxRanks-1), "rank", "number of this rank, from 0 (default from Slurm, Open MPI or a Kubernetes Indexed Job)")
	f.StringVar(&o.sync, syncFlag, "", "the Redis server where the ranks meet: redis://[user:password@]host:port, without TLS (default "+syncVariable+", the better place for a password); locks under measurement do not use it")
	f.StringVar(&o.job, "job", "", "name of the run among others that meet there (default the job of Slurm, or default)")
	f.Var(span(&o.assemble, 5*time.Minute, 1, day), "assemble", "how long a rank waits for the others at the start")
	f.BoolVar(&o.spawn, "spawn", false, "start all --ranks on this machine, and merge what they measure")
}

// resolve completes the flags from the environment and refuses contradictions.
func (o *rankFlags) resolve(f *pflag.FlagSet) error {
	rank, n, job, source, err := measure.ReadRank(os.Getenv)
	if o.sync == "" && (o.spawn || o.ranks > 1 || f.Changed("rank") || source != "" || err != nil) {
		o.sync = os.Getenv(syncVariable)
	}
	switch {
	case o.spawn && f.Changed("rank"):
		return usage("--rank selects one process, and --spawn starts all of them: leave out one of the two")
	case o.spawn && o.ranks < 2:
		return usage("--spawn starts --ranks processes: give --ranks 2 or more")
	case o.spawn:
		return nil
	case o.sync == "" && (f.Changed("rank") || o.ranks > 1):
		return usage("ranks meet at a server: give --sync redis://host:port; or --spawn, which starts all of them here")
	case o.sync == "":
		return nil
	}
	given := f.Changed("rank") && f.Changed("ranks")
	switch {
	case given:
	case err != nil:
		return err
	case source == "" && !f.Changed("ranks"):
		return usage("which rank is this? Give --rank and --ranks, or start it by srun, mpirun or a Kubernetes Indexed Job")
	case source == "":
		return usage("which of the %d ranks is this? Give --rank", o.ranks)
	case f.Changed("ranks") && o.ranks != n:
		return usage("--ranks is %d, but %s is %d: leave out --ranks", o.ranks, source, n)
	case f.Changed("rank") && o.rank != rank:
		return usage("--rank is %d, but %s is %d: leave out --rank", o.rank, source, rank)
	default:
		o.rank, o.ranks = rank, n
		if err := f.Set("ranks", fmt.Sprint(n)); err != nil { // it is part of the plan
			return usage("%s gives %d ranks: %v", source, n, err)
		}
	}
	if o.rank < 0 || o.rank >= o.ranks {
		return usage("--rank is %d: want 0 to %d, with --ranks %d", o.rank, o.ranks-1, o.ranks)
	}
	if !f.Changed("job") && source != "" {
		o.job = job
	}
	return nil
}

func (o *rankFlags) meeting() measure.RankOptions {
	return measure.RankOptions{Rank: o.rank, Ranks: o.ranks, Sync: o.sync, Job: o.job, Assemble: o.assemble}
}

func withoutPassword(command []string) []string {
	out := slices.Clone(command)
	for i, arg := range out {
		switch url, joined := strings.CutPrefix(arg, "--"+syncFlag+"="); {
		case joined:
			out[i] = "--" + syncFlag + "=" + measure.RedactedSync(url)
		case i > 0 && out[i-1] == "--"+syncFlag:
			out[i] = measure.RedactedSync(arg)
		}
	}
	return out
}

func (o *runOptions) checkRanks() error {
	if o.ranks < 2 {
		return nil
	}
	for _, c := range []struct {
		given bool
		flag  string
		why   string
	}{
		{o.hardware, "--hardware", "hardware experiments run on one machine: see '" + o.program.Name + " hardware'"},
		{o.chaos, "--chaos", "failure scenarios run on one machine: see '" + o.program.Name + " chaos'"},
		{o.resume, "--resume", o.noResume()},
		{o.spawn && !reflect.DeepEqual(o.siting, siting{}), "--servers, --durable, --tls or --delay", "--spawn starts one plain server of each kind: set up servers of yours, and name them by LOCKLAB_REDIS or LOCKLAB_ZOOKEEPER"},
		{o.auto(), "--rate auto", "only one process can search for the saturation point: give rates"},
	} {
		if c.given {
			return usage("%s with --ranks: %s", c.flag, c.why)
		}
	}
	return nil
}
