//go:build linux

package deploy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/backend"
)

// needSlurm returns the directory of the Slurm packages, or skips t.
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

func edited(t *testing.T, redis, dir string) string {
	t.Helper()
	script := text(t, "slurm/locklab.sbatch")
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

// unshared returns the script with the commands for nodes without a shared file system.
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

// slurmWithRedis returns a cluster, and the job script edited for a Redis and a directory with
// the program. It has the same plan in few windows, long enough for a busy machine.
func slurmWithRedis(t *testing.T, root string, nodes int) (s *slurm, script, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	redis, err := backend.Start(ctx, harness.KindRedis)
	requireNoError(t, err)
	t.Cleanup(func() { redis.Stop() })
	dir = t.TempDir()
	requireNoError(t, os.Link(program(t), filepath.Join(dir, "locklab")))
	script = edited(t, redis.Endpoint().Addrs[0][0], dir)
	script = strings.Replace(script, "plan=\"", "plan=\"--rounds 3 --duration 2s --warmup 10ms ", 1)
	return startSlurm(t, root, nodes), script, dir
}

// submit runs NAME.sbatch as a job, which writes NAME.txt, and returns its number and its exit
// status. sbatch --wait only checks after 2, 12 and 42 seconds.
func (s *slurm) submit(name string, nodes int) (job string, status int) {
	s.t.Helper()
	out, err := s.command("sbatch", "--parsable", fmt.Sprintf("--nodes=%d", nodes), "--output="+name+".txt", name+".sbatch").CombinedOutput()
	if err != nil {
		s.t.Fatalf("sbatch: %v: %s", err, out)
	}
	job = strings.TrimSpace(string(out))
	var show []byte
	ended := regexp.MustCompile(`JobState=(COMPLETED|FAILED)\b`)
	s.await("job "+job+" to end", func() bool {
		show, err = s.command("scontrol", "show", "job", job).CombinedOutput()
		return err == nil && ended.Match(show)
	})
	code := regexp.MustCompile(`\bExitCode=(\d+):0\b`).FindSubmatch(show)
	if code == nil {
		s.t.Fatalf("the job was ended:\n%s", show)
	}
	status, _ = strconv.Atoi(string(code[1])) // digits
	return job, status
}

func TestSlurm(t *testing.T) {
	root := needSlurm(t)
	const nodes = 3
	hosts := nodes
	if !apart() {
		hosts = 1
	}
	s, script, dir := slurmWithRedis(t, root, nodes)
	for name, script := range map[string]string{"shared": script, "unshared": unshared(t, script)} {
		t.Run(name, func(t *testing.T) {
			if name == "unshared" && !apart() {
				t.Skip("nodes have files of their own only where unshare --mount works: as root")
			}
			s.write(name+".sbatch", []byte(script), 0o755)
			job, status := s.submit(name, nodes)
			said, _ := os.ReadFile(s.path(name + ".txt"))
			if status != 0 && status != exitIncomplete {
				t.Fatalf("exit status %d; the job said:\n%s", status, said)
			}
			run, err := result.Load(filepath.Join(dir, "job-"+job, "merged"))
			requireNoError(t, err)
			if err := judgeRun(run, nodes, hosts); err != nil {
				t.Errorf("%v\nthe job said:\n%s", err, said)
			}
			if left, err := s.command("srun", fmt.Sprintf("--nodes=%d", nodes), "sh", "-c", "! ls -d /var/tmp/locklab*").Output(); err != nil {
				t.Errorf("it left %s on a node (%v)", left, err)
			}
		})
	}
}
