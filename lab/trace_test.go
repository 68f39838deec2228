package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/trace"
)

func needServers(t *testing.T, kind string) {
	t.Helper()
	locktest.RequireServers(t, kind, backend.Available(kind))
}

func traceJSON(t *testing.T, args ...string) trace.Trace {
	t.Helper()
	stdout, _ := requireSuccess(t, locklab(t, append([]string{"trace", "--json"}, args...)...))
	var timeline trace.Trace
	requireNoError(t, json.Unmarshal([]byte(stdout), &timeline))
	return timeline
}

func serverFor(t *testing.T, kind string) string {
	t.Helper()
	i := slices.IndexFunc(backend.Kinds, func(k *backend.Kind) bool { return k.Name == kind })
	if user := os.Getenv(backend.Kinds[i].Env); user != "" {
		return backend.Kinds[i].Env + "=" + user
	}
	return backend.Kinds[i].Env + "=" + strings.Join(locktest.Endpoint(t, kind).Addrs[0], ",")
}

func linesOf(t trace.Trace) (lines []string) {
	ticket := regexp.MustCompile(`_c_[0-9a-f]{32}-lock-(0{9}(\d))?`)
	token := regexp.MustCompile(`, with token \d+`)
	for _, s := range t.Steps {
		if s.Kind == "server" {
			continue
		}
		line := fmt.Sprintf("%s %s | %s", s.Client, s, strings.Join(result.Each(s.Tree, trace.Node.String), "; "))
		lines = append(lines, strings.TrimSpace(token.ReplaceAllString(ticket.ReplaceAllString(line, "#$2"), "")))
	}
	return lines
}

// TestTraceFair checks the published sequence of the fair lock against a real server.
func TestTraceFair(t *testing.T) {
	t.Parallel()
	needServers(t, harness.KindZooKeeper)
	timeline := traceJSON(t, "zk-fair")
	want := strings.Split(`A wants the lock |
A create # ephemeral sequential -> #1 | #1, A's
A getChildren2 . -> [#1] | #1, A's
A owns the lock | #1, A's
B wants the lock | #1, A's
B create # ephemeral sequential -> #2 | #1, A's; #2, B's
B getChildren2 . -> [#1 #2] | #1, A's; #2, B's
B getData #1 watch -> it is there, version 0 | #1, A's, watched by B; #2, B's
A releases the lock | #1, A's, watched by B; #2, B's
A delete #1 -> done | #2, B's
B is told: #1 was deleted | #2, B's
B getChildren2 . -> [#2] | #2, B's
B owns the lock | #2, B's
B releases the lock | #2, B's
B delete #2 -> done |`, "\n")
	if got := linesOf(timeline); !slices.Equal(got, want) {
		t.Errorf("the timeline is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if timeline.Lock != "zk-fair" || !strings.HasPrefix(timeline.Server, "zookeeper ") || !strings.HasPrefix(timeline.Path, "/locklab/") {
		t.Errorf("it is about %q on %q at %q", timeline.Lock, timeline.Server, timeline.Path)
	}
	looks := 0
	for i, s := range timeline.Steps {
		if i > 0 && s.At < timeline.Steps[i-1].At {
			t.Errorf("step %d is before the one before it", i)
		}
		if s.Kind == "call" && s.Took <= 0 {
			t.Errorf("%+v took no time", s)
		}
		if s.Kind == "server" {
			looks++
		}
	}
	if looks < 3 {
		t.Errorf("the server was asked %d times whether the timeline is true, want 3 at least", looks)
	}
}

// TestTraceEveryLock: in each trace each client owns the lock once; text equals JSON.
func TestTraceEveryLock(t *testing.T) {
	skipIfShort(t)
	parent, servers := t, make(map[string]string)
	for _, v := range catalog.All() {
		if v.Remote == nil || v.Unavailable != "" || v.Status == harness.Historical || v.Status == harness.Broken || v.Traits.Servers > 1 {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			needServers(t, v.Traits.Needs)
			if servers[v.Traits.Needs] == "" {
				servers[v.Traits.Needs] = serverFor(parent, v.Traits.Needs)
			}
			env := servers[v.Traits.Needs]
			t.Parallel()
			cmd := locklab(t, "trace", v.Name, "--clients", "3", "--hold", "1ms")
			cmd.Env = append(cmd.Env, env)
			stdout, _ := requireSuccess(t, cmd)
			for _, name := range []string{"A", "B", "C"} {
				for _, what := range []string{"wants", "owns", "releases"} {
					if n := len(regexp.MustCompile(`(?m) ms +`+name+` +`+what+` the lock`).FindAllString(stdout, -1)); n != 1 {
						t.Errorf("%s %s the lock %d times in\n%s", name, what, n, stdout)
					}
				}
			}
			if !strings.Contains(stdout, " -> ") {
				t.Errorf("no message in\n%s", stdout)
			}
		})
	}
}

func TestTraceInterrupt(t *testing.T) {
	needServers(t, harness.KindRedis)
	cmd := locklab(t, "trace", "redis-poll", "--hold", "1m")
	cmd.Env = append(cmd.Env, "LOCKLAB_REDIS=")
	startCommand(t, cmd)
	waitUntil(t, "server", func() bool { return len(children(t, cmd.Process.Pid)) > 0 })
	if status := endBy(t, cmd, os.Interrupt); status != exitInterrupted {
		t.Errorf("exit status %d, want %d", status, exitInterrupted)
	}
}
