package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
)

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
