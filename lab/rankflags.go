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
	measure.RankOptions
	spawn bool

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
	f.Var(count(&o.Ranks, 1, 1, harness.MaxRanks), "ranks", "processes that share the workers of each case; on this host or several; --workers and --rate are totals")
	f.Var(count(&o.Rank, 0, 0, harness.MaxRanks-1), "rank", "number of this rank, from 0 (default from Slurm, Open MPI or a Kubernetes Indexed Job)")
	f.StringVar(&o.Sync, syncFlag, "", "the Redis server where the ranks meet: redis://[user:password@]host:port, without TLS (default "+syncVariable+", the better place for a password); locks under measurement do not use it")
	f.StringVar(&o.Job, "job", "", "name of the run among others that meet there (default the job of Slurm, or default)")
	f.Var(span(&o.Assemble, 5*time.Minute, 1, day), "assemble", "how long a rank waits for the others at the start")
	f.BoolVar(&o.spawn, "spawn", false, "start all --ranks on this machine, and merge what they measure")
}

// resolve completes the flags from the environment and refuses contradictions.
func (o *rankFlags) resolve(f *pflag.FlagSet) error {
	rank, n, job, source, err := measure.ReadRank(os.Getenv)
	if o.Sync == "" && (o.spawn || o.Ranks > 1 || f.Changed("rank") || source != "" || err != nil) {
		o.Sync = os.Getenv(syncVariable)
	}
	switch {
	case o.spawn && f.Changed("rank"):
		return usage("--rank selects one process, and --spawn starts all of them: leave out one of the two")
	case o.spawn && o.Ranks < 2:
		return usage("--spawn starts --ranks processes: give --ranks 2 or more")
	case o.spawn:
		return nil
	case o.Sync == "" && (f.Changed("rank") || o.Ranks > 1):
		return usage("ranks meet at a server: give --sync redis://host:port; or --spawn, which starts all of them here")
	case o.Sync == "":
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
		return usage("which of the %d ranks is this? Give --rank", o.Ranks)
	case f.Changed("ranks") && o.Ranks != n:
		return usage("--ranks is %d, but %s is %d: leave out --ranks", o.Ranks, source, n)
	case f.Changed("rank") && o.Rank != rank:
		return usage("--rank is %d, but %s is %d: leave out --rank", o.Rank, source, rank)
	default:
		o.Rank, o.Ranks = rank, n
		if err := f.Set("ranks", fmt.Sprint(n)); err != nil { // it is part of the plan
			return usage("%s gives %d ranks: %v", source, n, err)
		}
	}
	if o.Rank < 0 || o.Rank >= o.Ranks {
		return usage("--rank is %d: want 0 to %d, with --ranks %d", o.Rank, o.Ranks-1, o.Ranks)
	}
	if !f.Changed("job") && source != "" {
		o.Job = job
	}
	return nil
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
	if o.Ranks < 2 {
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
