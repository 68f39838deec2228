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

// needNamespaces skips t if the script cannot work, or fails it if LOCKLAB_REQUIRE names netns.
func needNamespaces(t *testing.T) {
	t.Helper()
	_, err := inNamespaces(t, nil, "1", "--", "true")
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == exitUnavailable && !backend.Required("netns"):
		t.Skipf("no network namespaces here: %v", strings.TrimSpace(string(exit.Stderr)))
	default:
		t.Fatal(err)
	}
}

func inNamespaces(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, namespaces, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exit.Stderr = []byte(stderr.String())
		err = fmt.Errorf("%w: %w", err, errors.New(stderr.String()))
	}
	if left := remains(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	return string(out), err
}

func remains(pid int) (names []string) {
	entries, _ := os.ReadDir("/run/netns")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("locklab-%d-", pid)) {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestNamespaces: each command has an address, a host name, a number, and its arguments.
func TestNamespaces(t *testing.T) {
	needNamespaces(t)
	const script = `echo $1 $(hostname) $(ip -4 -o addr show eth0 | sed 's/.*inet \([^ ]*\).*/\1/') $JOB_COMPLETION_INDEX/$LOCKLAB_RANKS "[$2]"
exec 5<>/dev/tcp/${LOCKLAB_REDIS%:*}/${LOCKLAB_REDIS#*:} && printf 'INCR met\r\n' >&5
n=0; until printf 'GET met\r\n' >&5 && [ $n = 3 ]; do read -r line <&5; line=${line%?}; n=${line#:}; done
readlink /proc/self/ns/net`
	out, err := inNamespaces(t, nil, "3", "--", "bash", "-c", script, "bash", "{}", "rank {} of  'three' {}{")
	requireNoError(t, err)
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

func TestNamespacesStatus(t *testing.T) {
	needNamespaces(t)
	var exit *exec.ExitError
	if _, err := inNamespaces(t, []string{"SERVERS="}, "3", "--", "sh", "-c", "exit $((7 - 2 * {}))"); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, want the status 7, the greatest", err)
	}
}

func TestNamespacesUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                "want scripts/namespaces N -- COMMAND",
		"3":               "want scripts/namespaces N -- COMMAND",
		"3 --":            "want scripts/namespaces N -- COMMAND",
		"3 true":          "want scripts/namespaces N -- COMMAND",
		"three -- true":   "N is 'three'",
		"-1 -- true":      "N is '-1'",
		"0 -- true":       "N is 0",
		"201 -- true":     "N is 201",
		"99999999 -- tru": "N is '99999999'",
	} {
		_, err := inNamespaces(t, nil, strings.Fields(args)...)
		usageMistake(t, args, err, want)
	}
	_, err := inNamespaces(t, []string{"SERVERS=redis mysql"}, "1", "--", "true")
	usageMistake(t, "SERVERS=redis mysql", err, "unknown server 'mysql'")
	_, err = inNamespaces(t, []string{"DELAY=2ms", "LOCKLAB=./none"}, "1", "--", "true")
	var exit *exec.ExitError
	if want := "there is no ./none"; !errors.As(err, &exit) || exit.ExitCode() != exitUnavailable || !strings.Contains(string(exit.Stderr), want) {
		t.Errorf("a delay without a program: got %v, want the status %d and %q", err, exitUnavailable, want)
	}
}

func usageMistake(t *testing.T, args string, err error, want string) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(exit.Stderr), want) || strings.Count(string(exit.Stderr), "\n") != 1 {
		t.Errorf("%s: got %v, want the status 2 and one line with %q", args, err, want)
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
			if _, err := fmt.Fscan(out, &pids[0], &pids[1]); err != nil {
				t.Error(err)
			}
			made := remains(cmd.Process.Pid)
			if len(made) != 3 {
				t.Errorf("it made %v, want three", made)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
			// Its output ends when the last writer has ended.
			if rest, err := io.ReadAll(out); err != nil || strings.TrimSpace(string(rest)) != "ended" {
				t.Errorf("after the signal it said %q, want that the first ended by itself (%v)", rest, err)
			}
			cmd.Wait()
			gone := func() bool {
				return len(remains(cmd.Process.Pid)) == 0 && !running(pids[0]) && !running(pids[1])
			}
			for end := time.Now().Add(patience); !gone(); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("it left %v, or of %v a process", remains(cmd.Process.Pid), pids)
				}
			}
		})
	}
}

func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !regexp.MustCompile(`\) [ZX] `).Match(stat)
}
