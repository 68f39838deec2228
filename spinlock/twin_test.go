package spinlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/machine"
	"locklab/internal/require"
	"locklab/internal/stat"
	"locklab/internal/twin"
)

// outside is testdata/outside: a separate module that calls locks by their types.
var outside = &twin.Program{
	Topic: "outside",
	Cases: []string{"tas", "ttas", "ticket", "mcs", "clh", "sync-mutex"},
	Build: buildOutside,
}

// buildOutside builds the program in dir as the package comment describes, without network.
func buildOutside(ctx context.Context, dir string) (path string, err error) {
	text, err := os.ReadFile(filepath.Join("testdata", "outside", "main.go"))
	if err != nil {
		return "", err
	}
	tree, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	name, err := exec.CommandContext(ctx, "go", "list", "-m").Output()
	if err != nil {
		return "", err
	}
	module := strings.TrimSpace(string(name))
	if err := os.WriteFile(filepath.Join(dir, "main.go"), text, 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"mod", "init", "outside"},
		{"mod", "edit", "-require=" + module + "@v0.0.0", "-replace=" + module + "=" + tree},
		{"get", module + "/spinlock"},
		{"build", "-o", "outside.exe", "."},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return filepath.Join(dir, "outside.exe"), nil
}

type contest struct {
	name  string
	rival string // case of twin.Locks
	ck    string // case of twin.ConcurrencyKit, or ""
}

var contests = []contest{
	{"tas", "tas", "ck-cas"},
	{"ttas", "ttas", ""},
	{"ticket", "ticket", "ck-ticket"},
	{"mcs", "mcs", "ck-mcs"},
	{"clh", "clh", "ck-clh"},
	{"sync-mutex", "pthread-mutex", ""},
}

func startTwin(t testing.TB, p *twin.Program) *twin.Twin {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, to bind threads")
	}
	tw, err := twin.Start(t.Context(), p)
	if errors.Is(err, twin.ErrNoCompiler) || errors.Is(err, twin.ErrNoHeader) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := tw.Close(); err != nil {
			t.Error(err)
		}
	})
	return tw
}

func TestToolchainOutside(t *testing.T) {
	skipUnderRace(t)
	tw := startTwin(t, outside)
	cpus := machine.CPUOrder()
	for _, name := range outside.Cases {
		for workers := 1; workers <= min(2, len(cpus)); workers++ {
			r, err := tw.Run(t.Context(), name, cpus[:workers], time.Millisecond)
			if err != nil || slices.Min(r.Ops) < 64 {
				t.Errorf("%s with %d workers: %v, %v", name, workers, r, err)
			}
		}
	}
	if _, err := tw.Run(t.Context(), "none", cpus[:1], time.Millisecond); err == nil {
		t.Error("a case that there is not was run")
	}
}

// BenchmarkTwin compares each lock, called from another module, with the same algorithm in C
// and, for one worker, with Concurrency Kit, in neighbouring blocks: Go, C, C, Go. go/c is the
// median of the rounds' ratios, with the quartiles, which two CPUs' distance changes.
func BenchmarkTwin(b *testing.B) {
	cpus := machine.CPUOrder()
	for _, c := range contests {
		for workers := 1; workers <= min(2, len(cpus)); workers++ {
			b.Run(fmt.Sprintf("lock=%s/workers=%d", c.name, workers), func(b *testing.B) {
				compareTwins(b, c.name, twin.Locks, c.rival, cpus[:workers])
			})
		}
		if c.ck != "" {
			b.Run(fmt.Sprintf("lock=%s/against=%s", c.name, c.ck), func(b *testing.B) {
				compareTwins(b, c.name, twin.ConcurrencyKit, c.ck, cpus[:1])
			})
		}
	}
}

func compareTwins(b *testing.B, name string, p *twin.Program, rival string, cpus []int) {
	const (
		block = 5 * time.Millisecond
		least = 21 // rounds
	)
	inGo, inC := startTwin(b, outside), startTwin(b, p)
	ns := func(tw *twin.Twin, name string) float64 {
		r, err := tw.Run(b.Context(), name, cpus, block)
		require.NoError(b, err)
		return r.NsPerOp()
	}
	var ratios, times []float64
	round := func() {
		g1, c1, c2, g2 := ns(inGo, name), ns(inC, rival), ns(inC, rival), ns(inGo, name)
		ratios, times = append(ratios, (g1+g2)/(c1+c2)), append(times, (g1+g2)/2)
	}
	for b.Loop() {
		round()
	}
	for len(ratios) < least {
		round()
	}
	slices.Sort(ratios)
	n := len(ratios)
	b.ReportMetric(0, "ns/op") // the time of a round has no meaning
	b.ReportMetric(stat.Median(ratios), "go/c")
	b.ReportMetric(ratios[n/4], "go/c-p25")
	b.ReportMetric(ratios[3*n/4], "go/c-p75")
	b.ReportMetric(stat.Median(times), "go-ns")
}
