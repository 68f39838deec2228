//go:build linux

package deploy_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/internal/child"
)

// A slurm is a Slurm cluster on this machine: a controller, a daemon for each node, and
// munged, all child processes with files in one directory.
type slurm struct {
	t    *testing.T
	root string // where the packages are unpacked
	dir  string
	env  []string

	daemons []*child.Process
}

// startSlurm returns a cluster of idle nodes n1 and so on. It ends with t.
func startSlurm(t *testing.T, root string, nodes int) *slurm {
	t.Helper()
	dir, err := os.MkdirTemp("", "slurm-") // a short path: sockets are in it
	requireNoError(t, err)
	s := &slurm{t: t, root: root, dir: dir}
	t.Cleanup(s.stop)
	// Orphans of the daemons become children of this process: see stop.
	requireNoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	s.configure(nodes)
	s.start("munged", "--foreground", "--force", "--key-file="+s.path("key"), "--socket="+s.path("munge/socket"),
		"--pid-file="+s.path("munge/pid"), "--log-file="+s.path("munged.log"), "--seed-file="+s.path("munge/seed"))
	s.await("munged to listen", func() bool { _, err := os.Stat(s.path("munge/socket")); return err == nil })
	s.start("slurmctld", "-D", "-f", s.path("slurm.conf"))
	for i := range nodes {
		s.start("slurmd", "-D", "-N", fmt.Sprintf("n%d", i+1), "-f", s.path("slurm.conf"), "-d", s.program("slurmstepd"))
	}
	s.await("all nodes to be idle", func() bool {
		out, err := s.command("sinfo", "-N", "-h", "-o", "%T").Output()
		return err == nil && strings.Count(string(out), "idle") == nodes
	})
	return s
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) program(name string) string {
	for _, dir := range []string{"usr/bin", "usr/sbin"} {
		for _, end := range []string{"", "-wlm"} {
			path := filepath.Join(s.root, dir, name+end)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path
			}
		}
	}
	s.t.Fatalf("%s has no %s", s.root, name)
	return ""
}

func (s *slurm) configure(nodes int) {
	t := s.t
	t.Helper()
	root, err := filepath.Abs(s.root)
	requireNoError(t, err)
	s.root = root
	plugins, err := filepath.Glob(filepath.Join(root, "usr/lib/*/slurm-wlm"))
	if err != nil || len(plugins) != 1 {
		t.Fatalf("%s has the plugins %v of Slurm (%v)", root, plugins, err)
	}
	key := make([]byte, 1024)
	rand.Read(key)
	s.write("key", key, 0o400)
	for _, name := range []string{"munge", "state"} {
		requireNoError(t, os.Mkdir(s.path(name), 0o755))
	}
	requireNoError(t, os.Chmod(s.dir, 0o755))
	host, err := os.Hostname()
	requireNoError(t, err)
	owner, err := user.Current()
	requireNoError(t, err)
	ports := freePorts(t, nodes+1)
	var conf strings.Builder
	fmt.Fprintf(&conf, slurmConf, host, ports[0], s.dir, plugins[0], owner.Username)
	for i, port := range ports[1:] {
		fmt.Fprintf(&conf, "NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2\n", i+1, host, port)
	}
	fmt.Fprintln(&conf, "PartitionName=all Nodes=ALL Default=YES State=UP")
	s.write("slurm.conf", []byte(conf.String()), 0o644)
	s.env = append(os.Environ(), "SLURM_CONF="+s.path("slurm.conf"),
		"LD_LIBRARY_PATH="+plugins[0]+":"+filepath.Dir(plugins[0]), "PATH="+filepath.Join(root, "usr/bin")+":"+os.Getenv("PATH"))
}

// slurmConf is slurm.conf without the nodes, accounting and control groups.
const slurmConf = `ClusterName=locklab
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=%[5]s
SlurmdUser=%[5]s
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=%[3]s/munge/socket
PluginDir=%[4]s
StateSaveLocation=%[3]s/state
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdSpoolDir=%[3]s/%%n
SlurmdPidFile=%[3]s/%%n.pid
SlurmdLogFile=%[3]s/slurmd-%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
`

func (s *slurm) write(name string, text []byte, mode os.FileMode) {
	s.t.Helper()
	requireNoError(s.t, os.WriteFile(s.path(name), text, mode))
}

// apart reports whether nodes can have host names and files, which needs an unconfined root.
func apart() bool { return exec.Command("unshare", "--uts", "--mount", "true").Run() == nil }

// start starts a daemon in the foreground; if apart, a node's has its host name and /var/tmp.
func (s *slurm) start(name string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(s.program(name), args...)
	if i := slices.Index(args, "-N"); i >= 0 && apart() {
		const enter = `hostname "$0" && mount -t tmpfs tmpfs /var/tmp && exec "$@"`
		cmd = exec.Command("unshare", append([]string{"--uts", "--mount", "sh", "-c", enter, args[i+1]}, cmd.Args...)...)
	}
	cmd.Env = s.env
	out, err := os.OpenFile(s.path(name+".out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	requireNoError(s.t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	p, err := child.Start(cmd)
	requireNoError(s.t, err)
	s.daemons = append(s.daemons, p)
}

func (s *slurm) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, s.program(name), args...)
	cmd.Env, cmd.Dir = s.env, s.dir
	return cmd
}

// await waits for ok, or fails with the daemons' output.
func (s *slurm) await(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Millisecond) {
		for _, d := range s.daemons {
			select {
			case <-d.Done():
				s.t.Fatalf("waiting for %s: a daemon ended: %v\n%s", what, d.Err(), s.logs())
			default:
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("waited %v for %s\n%s", patience, what, s.logs())
		}
	}
}

func (s *slurm) logs() string {
	var b strings.Builder
	for _, pattern := range []string{"*.out", "*.log"} {
		names, _ := filepath.Glob(s.path(pattern))
		for _, name := range names {
			text, _ := os.ReadFile(name)
			fmt.Fprintf(&b, "--- %s\n%s\n", filepath.Base(name), text[max(0, len(text)-2000):])
		}
	}
	return b.String()
}

// stop ends every process of the cluster, also jobs' that left their groups.
func (s *slurm) stop() {
	for _, d := range slices.Backward(s.daemons) {
		d.Kill()
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left := s.orphans()
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
			syscall.Wait4(pid, nil, 0, nil)
		}
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
		s.t.Error(err)
	}
	if s.t.Failed() {
		s.t.Log(s.logs())
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
}

// orphans returns this process's children with this cluster's configuration, and ended Slurm
// daemons.
func (s *slurm) orphans() (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		m := regexp.MustCompile(`^(\d+) \((.*)\) (\S) (\d+) `).FindStringSubmatch(string(stat))
		if err != nil || m == nil || m[4] != strconv.Itoa(os.Getpid()) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		if m[3] == "Z" && strings.HasPrefix(m[2], "slurm") || err == nil && strings.Contains(string(env), "SLURM_CONF="+s.dir) {
			pid, _ := strconv.Atoi(m[1])
			pids = append(pids, pid)
		}
	}
	return pids
}

func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		requireNoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
