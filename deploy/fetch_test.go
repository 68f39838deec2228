//go:build unix

package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kubectl replaces the program: it records its calls, and answers like a cluster with a job of
// two ranks.
const kubectl = `#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
'get job locklab '*)
	case $(grep -c '^get job' "$CALLS") in
	1) echo '2 r f' ;;
	2) echo '2 r1 f' ;;
	*) echo "2 r$READY f$FAILED" ;;
	esac ;;
'get pod '*index=[01]' '*) i=${*##*index=}; printf 'locklab-%s-x' "${i%% *}" ;;
'cp -c results '*) [ -n "$EMPTY" ] || { mkdir "$5" && echo "$4" >"$5/manifest.json"; } ;;
'exec '*' -c results -- touch /results/copied') ;;
*) exit 9 ;;
esac
`

// runFetch runs the script, and returns its output and the calls of kubectl.
func runFetch(t *testing.T, env []string, args ...string) (said string, calls []string, err error) {
	t.Helper()
	bin := t.TempDir()
	requireNoError(t, os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755))
	log := filepath.Join(bin, "calls")
	cmd := exec.Command("kubernetes/fetch", args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CALLS="+log, "FETCH_PAUSE=0", "READY=2", "FAILED=", "EMPTY=")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	text, _ := os.ReadFile(log)
	return string(out), strings.Split(strings.TrimSpace(string(text)), "\n"), err
}

func TestFetch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	said, calls, err := runFetch(t, nil, dir)
	if err != nil {
		t.Fatalf("%v: %s %q", err, said, calls)
	}
	for i := range 2 {
		from := readText(t, filepath.Join(dir, fmt.Sprintf("rank-%d", i), "manifest.json"))
		if want := fmt.Sprintf("locklab-%d-x:/results/rank\n", i); from != want {
			t.Errorf("rank-%d is from %q, want %q", i, from, want)
		}
	}
	// It asks until both are ready, and lets the pods end when everything is copied.
	var verbs []string
	for _, call := range calls {
		verbs = append(verbs, strings.Join(strings.Fields(call)[:2], " "))
	}
	want := "get job,get job,get job,get pod,cp -c,get pod,cp -c,exec locklab-0-x,exec locklab-1-x"
	if got := strings.Join(verbs, ","); got != want {
		t.Errorf("it called %s, want %s", got, want)
	}
}

func TestFetchFails(t *testing.T) {
	there := t.TempDir()
	requireNoError(t, os.Mkdir(filepath.Join(there, "rank-0"), 0o755))
	for name, c := range map[string]struct {
		env    []string
		args   []string
		status int
		want   string
	}{
		"no directory":  {nil, nil, 2, "want deploy/kubernetes/fetch DIR"},
		"two":           {nil, []string{"a", "b"}, 2, "want deploy/kubernetes/fetch DIR"},
		"there already": {nil, []string{there}, 2, "rank-0 exists"},
		"a rank failed": {[]string{"FAILED=1", "READY=1"}, []string{filepath.Join(t.TempDir(), "a")}, 1, "1 of 2 ranks failed"},
		"no run":        {[]string{"EMPTY=1"}, []string{filepath.Join(t.TempDir(), "b")}, 1, "locklab-0-x left no run"},
	} {
		t.Run(name, func(t *testing.T) {
			said, calls, err := runFetch(t, c.env, c.args...)
			if status, _ := exitOf(err); status != c.status || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 {
				t.Errorf("got %v, %q, want the status %d and one line with %q", err, said, c.status, c.want)
			}
			if strings.Contains(strings.Join(calls, "\n"), "touch") {
				t.Errorf("it let pods end: %q", calls)
			}
		})
	}
}
