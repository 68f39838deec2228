package spinlock_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/machine"
	"locklab/internal/require"
)

// fastPaths bounds the instructions on amd64 for an acquisition of a free lock, an increment
// and the release, in a loop, called by type from another module; in comments, if Lock is
// called instead of inlined. Later compilers than Go 1.26's may make fewer.
var fastPaths = []struct {
	lock string
	most float64
}{
	{"tas", 18},
	{"ttas", 22},
	{"ticket", 22}, // 36 by a call
	{"mcs", 28},
	{"clh", 33}, // 48 by a call
}

// TestToolchainInstructions counts the instructions of each fast path with callgrind.
func TestToolchainInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("needs a linux/amd64 host, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	skipUnderRace(t)
	valgrind := findValgrind(t)
	dir := t.TempDir()
	program, err := buildOutside(t.Context(), dir)
	require.NoError(t, err)
	for _, f := range fastPaths {
		t.Run(f.lock, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(dir, f.lock+".callgrind")
			cmd := exec.CommandContext(t.Context(), valgrind, "--tool=callgrind", "--callgrind-out-file="+out,
				"--toggle-collect=main.counted", program)
			cmd.Stdin = strings.NewReader("run " + f.lock + " " + strconv.Itoa(machine.CPUOrder()[0]) + " 20\n")
			cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOGC=off") // nothing else runs in between
			answer, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, answer)
			}
			var ops float64
			if _, err := fmt.Sscanf(string(answer[bytes.IndexByte(answer, '\n')+1:]), "ok %d %g", new(int), &ops); err != nil {
				t.Fatalf("%v\n%s", err, answer)
			}
			text, err := os.ReadFile(out)
			require.NoError(t, err)
			found := regexp.MustCompile(`(?m)^summary: (\d+)$`).FindSubmatch(text)
			if found == nil {
				t.Fatalf("callgrind gives no sum:\n%s", text)
			}
			sum, err := strconv.Atoi(string(found[1]))
			require.NoError(t, err)
			n := float64(sum) / ops
			t.Logf("%.1f instructions", n)
			if n > f.most || n < f.most/2 {
				t.Errorf("%.1f instructions for an acquisition with its release, want at most %v and not half of that", n, f.most)
			}
		})
	}
}

func skipUnderRace(t *testing.T) {
	t.Helper()
	info, _ := debug.ReadBuildInfo()
	if info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the program that it looks at is the same without the race detector")
	}
}

// findValgrind returns valgrind's path, or skips, or fails if LOCKLAB_REQUIRE names it.
func findValgrind(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("valgrind")
	if err == nil {
		return path
	}
	reason := fmt.Sprintf("%v: apt-get install valgrind", err)
	if slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), "valgrind") {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}

// TestToolchainInlines fails if the fast path of a lock is too heavy to inline.
func TestToolchainInlines(t *testing.T) {
	skipUnderRace(t)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, of := range []string{"TAS", "ExchangeTAS", "TTAS", "Backoff", "Ticket", "MCSWorker", "CLHWorker"} {
		for _, method := range []string{"Lock", "Unlock"} {
			if want := "can inline (*" + of + ")." + method + "\n"; !strings.Contains(string(out), want) {
				t.Errorf("the compiler does not say %q", want)
			}
		}
	}
	for _, of := range []string{"ProportionalTicket", "TWA"} {
		if want := "can inline (*" + of + ").Lock\n"; !strings.Contains(string(out), want) {
			t.Errorf("the compiler does not say %q", want)
		}
	}
}
