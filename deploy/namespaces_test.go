//go:build unix

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/internal/backend"
)

const namespaces = "../scripts/namespaces"

const exitUnavailable = 69

// exitOf returns the exit status and the error output of a command, -1 if it did not run.
func exitOf(err error) (status int, stderr string) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &exit):
		return exit.ExitCode(), string(exit.Stderr)
	}
	return -1, err.Error()
}

func needNamespaces(t *testing.T) {
	t.Helper()
	_, err := inNamespaces(t, nil, "1", "--", "true")
	if status, stderr := exitOf(err); status == exitUnavailable && !backend.Required("netns") {
		t.Skipf("no network namespaces here: %v", strings.TrimSpace(stderr))
	}
	requireNoError(t, err)
}

func inNamespaces(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, namespaces, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		_, stderr := exitOf(err)
		err = fmt.Errorf("%w: %s", err, stderr)
	}
	if left := remainingNamespaces(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	return string(out), err
}

func remainingNamespaces(pid int) (names []string) {
	entries, _ := os.ReadDir("/run/netns")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("locklab-%d-", pid)) {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestNamespaces: each command has an address, a host name, a number, and its arguments. The
// greatest exit status counts.
func TestNamespaces(t *testing.T) {
	needNamespaces(t)
	const script = `echo $1 $(hostname) $(ip -4 -o addr show eth0 | sed 's/.*inet \([^ ]*\).*/\1/') $JOB_COMPLETION_INDEX/$LOCKLAB_RANKS "[$2]"
exec 5<>/dev/tcp/${LOCKLAB_REDIS%:*}/${LOCKLAB_REDIS#*:} && printf 'INCR met\r\n' >&5
n=0; until printf 'GET met\r\n' >&5 && [ $n = 3 ]; do read -r line <&5; line=${line%?}; n=${line#:}; done
readlink /proc/self/ns/net; exit $((7 - 2 * $1))`
	out, err := inNamespaces(t, nil, "3", "--", "bash", "-c", script, "bash", "{}", "rank {} of  'three' {}{")
	if status, _ := exitOf(err); status != 7 {
		t.Errorf("got %v, want the status 7", err)
	}
	here, err := os.Readlink("/proc/self/ns/net")
	requireNoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i := range 3 {
		want := fmt.Sprintf("%d rank-%d 10.77.0.%d/24 %d/3 [rank %d of  'three' %d{]", i, i, 11+i, i, i, i)
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	slices.Sort(lines)
	spaces := slices.DeleteFunc(slices.Compact(lines), func(l string) bool { return !strings.HasPrefix(l, "net:") })
	if len(spaces) != 3 || slices.Contains(spaces, here) {
		t.Errorf("they ran in the namespaces %v, this is %s: want three others", spaces, here)
	}
}

func TestNamespacesUsage(t *testing.T) {
	const usage = "want scripts/namespaces N -- COMMAND"
	for _, c := range []struct {
		args, env string
		status    int
		want      string
	}{
		{"", "", 2, usage}, {"3", "", 2, usage}, {"3 --", "", 2, usage}, {"3 true", "", 2, usage},
		{"three -- true", "", 2, "N is 'three'"},
		{"-1 -- true", "", 2, "N is '-1'"},
		{"0 -- true", "", 2, "N is 0"},
		{"201 -- true", "", 2, "N is 201"},
		{"99999999 -- tru", "", 2, "N is '99999999'"},
		{"1 -- true", "SERVERS=redis mysql", 2, "unknown server 'mysql'"},
		{"1 -- true", "DELAY=2ms;LOCKLAB=./none", exitUnavailable, "there is no ./none"},
	} {
		_, err := inNamespaces(t, strings.Split(c.env, ";"), strings.Fields(c.args)...)
		if status, stderr := exitOf(err); status != c.status || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s %s: got %v, want the status %d and one line with %q", c.env, c.args, err, c.status, c.want)
		}
	}
}

func TestNamespacesEnd(t *testing.T) {
	needNamespaces(t)
	// A process that ignores SIGHUP, as under nohup, passes that to its children, and a shell
	// then does not trap it; a process that catches it does not.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			// The first takes its time to end, the second ignores the request.
			const script = `[ {} = 0 ] && trap "sleep 0.5; echo ended; exit" TERM || trap "" TERM HUP INT
echo $$; while :; do sleep 1; done`
			cmd := exec.Command(namespaces, "2", "--", "sh", "-c", script)
			out, in, err := os.Pipe()
			requireNoError(t, err)
			defer out.Close()
			cmd.Stdout = in
			err = cmd.Start()
			in.Close()
			requireNoError(t, err)
			var pids [2]int
			_, err = fmt.Fscan(out, &pids[0], &pids[1])
			if made := remainingNamespaces(cmd.Process.Pid); err != nil || len(made) != 3 {
				t.Errorf("it made %v, want three (%v)", made, err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
			// Its output ends when the last writer has ended.
			if rest, err := io.ReadAll(out); err != nil || strings.TrimSpace(string(rest)) != "ended" {
				t.Errorf("after the signal it printed %q, want that the first ended itself (%v)", rest, err)
			}
			cmd.Wait()
			for end := time.Now().Add(patience); len(remainingNamespaces(cmd.Process.Pid)) > 0 || processRuns(pids[0]) || processRuns(pids[1]); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("it left %v, or of %v a process", remainingNamespaces(cmd.Process.Pid), pids)
				}
			}
		})
	}
}

func processRuns(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !regexp.MustCompile(`\) [ZX] `).Match(stat)
}
