//go:build linux

package deploy_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/child"
)

const slurmNodes = 3

// A slurm is a Slurm of three nodes on this machine, with all files in one directory. Its daemons
// are in one PID namespace: they and their jobs end together. Each node has its own host name and
// /var/tmp.
type slurm struct {
	t       *testing.T
	dir     string
	env     []string
	daemons *child.Process
}

// slurmDaemons starts the daemons, and ends with the first of them.
const slurmDaemons = `munged --foreground --force --key-file=$PWD/key --socket=$PWD/munge/socket --pid-file=$PWD/munge/pid \
	--log-file=$PWD/munged.log --seed-file=$PWD/munge/seed &
until [ -e munge/socket ]; do sleep 0.1; done
slurmctld -D &
for node in n1 n2 n3; do
	unshare --uts --mount sh -c 'hostname "$0" && mount -t tmpfs tmpfs /var/tmp && exec slurmd -D -N "$0" -d "$PWD/bin/slurmstepd"' $node &
done
wait -n`

// slurmConf is slurm.conf without the nodes and control groups.
const slurmConf = `ClusterName=locklab
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=%[3]s/munge/socket
PluginDir=%[4]s
StateSaveLocation=%[3]s/state
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdSpoolDir=%[3]s/%%n
SlurmdPidFile=%[3]s/%%n.pid
SlurmdLogFile=%[3]s/slurmd-%%n.log
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
PartitionName=all Nodes=ALL Default=YES State=UP
`

// startSlurm starts the packages of Slurm that LOCKLAB_SLURM names, or skips t.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	root := os.Getenv("LOCKLAB_SLURM")
	switch {
	case root == "" && backend.Required("slurm"):
		t.Fatal("LOCKLAB_SLURM does not name the directory of Slurm: make test-slurm does")
	case root == "":
		t.Skip("it starts a Slurm of three nodes: make test-slurm fetches it and runs this")
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--uts", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("it needs namespaces, as root: %v: %s", err, out)
	}
	dir, err := os.MkdirTemp("", "slurm-") // a short path: sockets are in it
	requireNoError(t, err)
	s := &slurm{t: t, dir: dir}
	s.configure(root)
	out, err := os.Create(s.path("daemons.log"))
	requireNoError(t, err)
	defer out.Close()
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", slurmDaemons)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = s.env, s.dir, out, out
	s.daemons, err = child.Start(cmd)
	requireNoError(t, err)
	t.Cleanup(s.stop)
	s.await("all nodes to be idle", func() bool {
		out, err := s.command("sinfo", "-N", "-h", "-o", "%T").Output()
		return err == nil && strings.Count(string(out), "idle") == slurmNodes
	})
	return s
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

// configure writes the files of the cluster. Debian calls some programs NAME-wlm.
func (s *slurm) configure(root string) {
	s.t.Helper()
	plugins, err := filepath.Glob(filepath.Join(root, "usr/lib/*/slurm-wlm"))
	if err != nil || len(plugins) != 1 {
		s.t.Fatalf("%s has the plugins %v of Slurm (%v)", root, plugins, err)
	}
	for _, name := range []string{"munge", "state", "bin"} {
		requireNoError(s.t, os.Mkdir(s.path(name), 0o755))
	}
	requireNoError(s.t, os.Chmod(s.dir, 0o755))
	programs, err := filepath.Glob(filepath.Join(root, "usr/*bin/*"))
	requireNoError(s.t, err)
	for _, program := range programs {
		requireNoError(s.t, os.Symlink(program, s.path("bin/"+strings.TrimSuffix(filepath.Base(program), "-wlm"))))
	}
	host, err := os.Hostname()
	requireNoError(s.t, err)
	conf := fmt.Sprintf(slurmConf, host, freePort(s.t), s.dir, plugins[0])
	for i := range slurmNodes {
		conf += fmt.Sprintf("NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2\n", i+1, host, freePort(s.t))
	}
	s.write("key", rand.Text()+rand.Text(), 0o400)
	s.write("slurm.conf", conf, 0o644)
	s.env = append(os.Environ(), "SLURM_CONF="+s.path("slurm.conf"),
		"LD_LIBRARY_PATH="+plugins[0]+":"+filepath.Dir(plugins[0]), "PATH="+s.path("bin")+":"+os.Getenv("PATH"))
}

func (s *slurm) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	requireNoError(s.t, os.WriteFile(s.path(name), []byte(text), mode))
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *slurm) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, s.path("bin/"+name), args...)
	cmd.Env, cmd.Dir = s.env, s.dir
	return cmd
}

func (s *slurm) await(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Millisecond) {
		select {
		case <-s.daemons.Done():
			s.t.Fatalf("waiting for %s: a daemon ended: %v", what, s.daemons.Err())
		default:
		}
		if time.Now().After(end) {
			s.t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// stop ends all processes of the cluster, and logs their output if the test failed.
func (s *slurm) stop() {
	s.daemons.Kill()
	logs, _ := filepath.Glob(s.path("*.log"))
	for _, name := range logs {
		if text, _ := os.ReadFile(name); s.t.Failed() {
			s.t.Logf("%s:\n%s", filepath.Base(name), text[max(0, len(text)-2000):])
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
}

// jobScript returns the script, edited for that Redis and the directory of the program. The plan
// has few windows, long enough for a busy machine.
func jobScript(t *testing.T, redis, dir string) string {
	t.Helper()
	script := readText(t, "slurm/locklab.sbatch")
	for pattern, line := range map[string]string{
		`(?m)^export LOCKLAB_REDIS=.*$`: "export LOCKLAB_REDIS=" + redis,
		`(?m)^DIR=.*$`:                  "DIR=" + dir,
		`(?m)^plan="`:                   `plan="--rounds 3 --duration 2s --warmup 10ms `,
	} {
		re := regexp.MustCompile(pattern)
		if n := len(re.FindAllString(script, -1)); n != 1 {
			t.Fatalf("the script has %d lines like %s, want one", n, pattern)
		}
		script = re.ReplaceAllLiteralString(script, line)
	}
	return script
}

// scriptWithoutSharedFiles returns the script with the commands for nodes without a shared file system.
func scriptWithoutSharedFiles(t *testing.T, script string) string {
	t.Helper()
	shared, rest, found := strings.Cut(script, "\n# If the nodes share no file system")
	before, _, runs := strings.Cut(shared, "\nsrun ")
	commands := regexp.MustCompile(`(?m)^#\t(.*\n)`).FindAllStringSubmatch(rest, -1)
	if !found || !runs || len(commands) < 5 {
		t.Fatalf("the script has no srun, or only the commands %q for nodes that share no file system", commands)
	}
	for _, c := range commands {
		before += "\n" + c[1]
	}
	return before
}

// submit runs script as a job, and returns its number, output and exit status. sbatch --wait only
// checks after 2, 12 and 42 seconds.
func (s *slurm) submit(name, script string) (job, said string, status int) {
	s.t.Helper()
	s.write(name+".sbatch", script, 0o755)
	out, err := s.command("sbatch", "--parsable", fmt.Sprintf("--nodes=%d", slurmNodes), "--output="+name+".txt", name+".sbatch").CombinedOutput()
	if err != nil {
		s.t.Fatalf("sbatch: %v: %s", err, out)
	}
	job = strings.TrimSpace(string(out))
	var code [][]byte
	s.await("job "+job+" to end", func() bool {
		show, err := s.command("scontrol", "show", "job", job).CombinedOutput()
		code = regexp.MustCompile(`(?s)JobState=(?:COMPLETED|FAILED)\b.*\bExitCode=(\d+):0\b`).FindSubmatch(show)
		return err == nil && code != nil
	})
	status, _ = strconv.Atoi(string(code[1])) // digits
	return job, readText(s.t, s.path(name+".txt")), status
}

// TestJobScript: the script has the lines that TestSlurm edits, which make test does not run.
func TestJobScript(t *testing.T) {
	if script := scriptWithoutSharedFiles(t, jobScript(t, "redis:6379", "/dir")); !strings.Contains(script, "\nsbcast ") {
		t.Errorf("without shared files nothing is copied to the nodes:\n%s", script)
	}
}

func TestSlurm(t *testing.T) {
	s := startSlurm(t)
	redis, err := backend.Start(t.Context(), harness.KindRedis)
	requireNoError(t, err)
	defer redis.Stop()
	dir := t.TempDir()
	requireNoError(t, os.Link(buildProgram(t), filepath.Join(dir, "locklab")))
	script := jobScript(t, redis.Endpoint().Addrs[0][0], dir)
	for name, script := range map[string]string{"shared": script, "unshared": scriptWithoutSharedFiles(t, script)} {
		t.Run(name, func(t *testing.T) {
			job, said, status := s.submit(name, script)
			if status != 0 && status != exitIncomplete {
				t.Fatalf("exit status %d; the job printed:\n%s", status, said)
			}
			run, err := result.Load(filepath.Join(dir, "job-"+job, "merged"))
			requireNoError(t, err)
			if err := judgeRun(run, slurmNodes); err != nil {
				t.Errorf("%v\nthe job printed:\n%s", err, said)
			}
			if left, err := s.command("srun", fmt.Sprintf("--nodes=%d", slurmNodes), "sh", "-c", "! ls -d /var/tmp/locklab*").Output(); err != nil {
				t.Errorf("it left %s on a node (%v)", left, err)
			}
		})
	}
}
