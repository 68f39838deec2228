//go:build linux

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/backend"
)

// needSlurm returns where the packages of Slurm are unpacked, or skips t. To start a
// cluster takes a minute, and packages that make test does not fetch.
func needSlurm(t *testing.T) string {
	t.Helper()
	root := os.Getenv("LOCKLAB_SLURM")
	switch {
	case root != "":
	case backend.Required("slurm"):
		t.Fatal("LOCKLAB_SLURM does not say where Slurm is unpacked: make test-slurm does")
	default:
		t.Skip("it starts a Slurm of three nodes: make test-slurm fetches it and runs this")
	}
	return root
}

// edited returns the job script as a user edits it: with two lines replaced.
func edited(t *testing.T, redis, dir string) string {
	t.Helper()
	text, err := os.ReadFile("slurm/locklab.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	script := string(text)
	for pattern, line := range map[string]string{
		`(?m)^export LOCKLAB_REDIS=.*$`: "export LOCKLAB_REDIS=" + redis,
		`(?m)^DIR=.*$`:                  "DIR=" + dir,
	} {
		re := regexp.MustCompile(pattern)
		if n := len(re.FindAllString(script, -1)); n != 1 {
			t.Fatalf("the script has %d lines like %s, want one", n, pattern)
		}
		script = re.ReplaceAllLiteralString(script, line)
	}
	return script
}

// unshared returns the script with the commands for nodes that share no file system, which
// it has as a comment, in place of those that it runs.
func unshared(t *testing.T, script string) string {
	t.Helper()
	begin, end := strings.Index(script, "\nsrun "), strings.Index(script, "\n# Where nodes share no file system")
	if begin < 0 || end < begin {
		t.Fatal("the script has no srun, or nothing for nodes that share no file system")
	}
	var commands []string
	for line := range strings.Lines(script[end:]) {
		if c, ok := strings.CutPrefix(line, "#\t"); ok {
			commands = append(commands, c)
		}
	}
	if len(commands) < 5 {
		t.Fatalf("the comment has the commands %q", commands)
	}
	return script[:begin] + "\n" + strings.Join(commands, "")
}

// TestSlurm submits the job script to a cluster of three nodes, and reads the run that it
// leaves.
func TestSlurm(t *testing.T) {
	root := needSlurm(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	redis, err := backend.Start(ctx, harness.KindRedis)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Stop() })
	dir := t.TempDir()
	if err := os.Link(program(t), filepath.Join(dir, "locklab")); err != nil {
		t.Fatal(err)
	}
	const nodes = 3
	hosts := nodes
	if os.Getuid() != 0 {
		hosts = 1 // only root gives nodes names of their own
	}
	s := startSlurm(t, root, nodes)
	script := edited(t, redis.Endpoint().Addrs[0][0], dir)
	// The same plan, in windows that take a second.
	script = strings.Replace(script, "plan=\"", "plan=\"--rounds 2 --duration 100ms --warmup 10ms ", 1)
	for name, script := range map[string]string{"shared": script, "unshared": unshared(t, script)} {
		t.Run(name, func(t *testing.T) {
			if name == "unshared" && os.Getuid() != 0 {
				t.Skip("nodes have files of their own only as root")
			}
			s.write(name+".sbatch", []byte(script), 0o755)
			out, err := s.command("sbatch", "--wait", "--parsable", fmt.Sprintf("--nodes=%d", nodes), "--output="+name+".txt", name+".sbatch").CombinedOutput()
			said, _ := os.ReadFile(s.path(name + ".txt"))
			if err != nil {
				t.Fatalf("sbatch: %v: %s\nthe job said:\n%s", err, out, said)
			}
			job := strings.TrimSpace(string(out))
			run, err := resultfile.Load(filepath.Join(dir, "job-"+job, "merged"))
			if err != nil {
				t.Fatal(err)
			}
			if err := judgeRun(run, nodes, hosts); err != nil {
				t.Errorf("%v\nthe job said:\n%s", err, said)
			}
			if left, err := s.command("srun", fmt.Sprintf("--nodes=%d", nodes), "sh", "-c", "! ls -d /var/tmp/locklab*").Output(); err != nil {
				t.Errorf("it left %s on a node (%v)", left, err)
			}
		})
	}
}

// judgeRun returns what is wrong with what should be the merged run of so many ranks on as
// many hosts, all of which had the lock.
func judgeRun(run *resultfile.Run, ranks, hosts int) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m := run.Manifest; len(m.Parts) != ranks || len(m.Lost) > 0 || len(run.Damage) > 0 {
		wrong("it has %d parts, lost %v and is damaged at %v: want %d, and neither", len(m.Parts), m.Lost, run.Damage, ranks)
	}
	on := make(map[string]bool)
	for _, part := range run.Manifest.Parts {
		on[part.Host] = true
	}
	if len(on) != hosts {
		wrong("the ranks ran on %d hosts, want %d", len(on), hosts)
	}
	if len(run.Results) == 0 {
		wrong("it has no results")
	}
	for _, r := range run.Results {
		if len(r.Violations) > 0 {
			wrong("%s: %v", r.Lock.Name, r.Violations)
		}
		if len(r.Ranks) != ranks {
			wrong("%s has %d ranks, want %d", r.Lock.Name, len(r.Ranks), ranks)
		}
		for _, rank := range r.Ranks {
			if rank.Ops == 0 {
				wrong("%s: rank %d never had it", r.Lock.Name, rank.Rank)
			}
		}
	}
	return errors.Join(errs...)
}

// TestJudgeRun: what TestSlurm asks of a run is not true of each of these.
func TestJudgeRun(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*resultfile.Run)
		want  string // "" accepts
	}{
		"as it should be": {func(*resultfile.Run) {}, ""},
		"a part less":     {func(r *resultfile.Run) { r.Manifest.Parts = r.Manifest.Parts[:2] }, "it has 2 parts"},
		"lost":            {func(r *resultfile.Run) { r.Manifest.Lost = make([]resultfile.Loss, 1) }, "lost"},
		"damaged":         {func(r *resultfile.Run) { r.Damage = []string{"line 2"} }, "line 2"},
		"one host":        {func(r *resultfile.Run) { r.Manifest.Parts[2].Host = "n1" }, "ran on 2 hosts"},
		"no results":      {func(r *resultfile.Run) { r.Results = nil }, "no results"},
		"violation":       {func(r *resultfile.Run) { r.Results[0].Violations = make([]harness.Violation, 1) }, "redis-queue: "},
		"a rank less":     {func(r *resultfile.Run) { r.Results[0].Ranks = r.Results[0].Ranks[1:] }, "has 2 ranks"},
		"starved":         {func(r *resultfile.Run) { r.Results[0].Ranks[1].Ops = 0 }, "rank 1 never had it"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &resultfile.Run{Results: []*harness.Result{{Lock: harness.Lock{Name: "redis-queue"}}}}
			for i := range 3 {
				run.Manifest.Parts = append(run.Manifest.Parts, resultfile.Part{Rank: i, Host: fmt.Sprintf("n%d", i+1)})
				run.Results[0].Ranks = append(run.Results[0].Ranks, harness.Rank{Rank: i, Ops: 1})
			}
			c.spoil(run)
			err := judgeRun(run, 3, 3)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
