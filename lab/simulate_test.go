package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness/result"
	"locklab/harness/simulate"
)

func buildProgram(t *testing.T, tags string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "locklab")
	if text, err := exec.Command("go", "build", "-buildvcs=false", "-tags", tags, "-o", exe, "../cmd/locklab").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return exe
}

func simulateBy(t *testing.T, exe string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := locklab(t, append([]string{"simulate"}, args...)...)
	cmd.Path = exe
	return cmd
}

// TestSimulateUsage: a mistake is reported by the usual build, which does not simulate.
func TestSimulateUsage(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.json")
	writeFile(t, damaged, `{"name": "x", "sockets": 1`)
	run := filepath.Join(dir, "run")
	requireRefusals(t, "simulate", []refusal{
		{"--machine skylake-24 --locks mutex,sync-mutex --out " + run, "to simulate, run: go run -tags systematic,simulate locklab/"},
		{"--machine " + damaged, "damaged.json: simulate: machine: "},
		{"--machine " + dir, dir},
		{"--machine skylake-24 --into " + dir, dir},
		{"", "no machine"},
		{"--machine nosuch", "skylake-8x32"},
		{"--machine nosuch.json", "nosuch.json"},
		{"--machine skylake-24 --workers 49", "49 workers, and skylake-24 has 48 hardware threads"},
		{"--machine skylake-24 --workers 8..2", `"8..2" ends before it begins`},
		{"--machine skylake-24 --workers 1...4", "in --workers 1...4"},
		{"--machine skylake-24 --locks rw-mutex,mcs", "rw-mutex is for readers and writers"},
		{"--machine skylake-24 --locks peterson --workers 3", "at most 2 workers"},
		{"--machine skylake-24 --wait park", "park sleeps or yields"},
		{"--machine skylake-24 --hold 1s", `"1s"`},
		{"--machine skylake-24 --lines 99999", `"99999"`},
		{"--machine skylake-24 --out a --into b", "not both"},
		{"--machine skylake-24 --replace", "--out DIR"},
	})
	requireAbsent(t, run)
}

func TestListMachines(t *testing.T) {
	t.Parallel()
	stdout, _ := requireStatus(t, 0, []string{"simulate", "--list"})
	for _, m := range simulate.List() {
		line := regexp.MustCompile(`(?m)^` + m.Name + ` .*$`).FindString(stdout)
		if !strings.Contains(line, m.Evidence) || strings.Contains(line, "hypothetical") != m.Hypothetical {
			t.Errorf("%s: %q", m.Name, line)
		}
	}
}

func TestSimulate(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	exe := buildProgram(t, simulateTags)
	for name, test := range map[string]func(t *testing.T, exe string){
		"table": simulateTable, "into": simulateInto, "interrupt": simulateInterrupt, "hook": simulateHook,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, exe)
		})
	}
}

func simulateTable(t *testing.T, exe string) {
	args := []string{"--machine", "skylake-8x32", "--locks", "ticket,mutex,sync-mutex", "--workers", "1,2,40", "--seeds", "2", "--hold", "10ns,1us"}
	cmd := simulateBy(t, exe, append(args, "-o", "run")...)
	requireSuccess(t, cmd, "simulated: skylake-8x32 (hypothetical): ", "\naccuracy: sync-mutex: ", "is assumed to take 1000 ns. It is a model of sync.Mutex.", "report: ")
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if len(run.Simulations) != 18 || len(run.Results) != 0 || len(run.Machines) != 1 || run.Manifest.Interrupted || run.Manifest.Finished.IsZero() {
		t.Fatalf("kept %d simulations, %d results, %d machines, manifest %+v", len(run.Simulations), len(run.Results), len(run.Machines), run.Manifest)
	}
	if want := append([]string{"locklab", "simulate"}, append(args, "-o", "run")...); !slices.Equal(run.Manifest.Command, want) {
		t.Errorf("the command kept is %q, want %q", run.Manifest.Command, want)
	}
	if m, err := simulate.Parse(run.Machines[0].File); err != nil || m.Name != "skylake-8x32" || !run.Machines[0].Hypothetical {
		t.Errorf("the machine kept is %+v, %v", m, err)
	}
	for _, s := range run.Simulations {
		if s.Simulated != "skylake-8x32" || !s.Hypothetical || s.Accuracy == "" || s.Seeds != 2 || s.PerAcquisition.Median <= 0 {
			t.Errorf("%+v", s)
		}
	}
	requireOutcome(t, simulateBy(t, exe, "--machine", "skylake-24", "--out", filepath.Join(cmd.Dir, "run")), exitUsage, "run already holds a run; ")
}

// simulateInto: simulations change nothing else in a measured run.
func simulateInto(t *testing.T, exe string) {
	dir := filepath.Join(t.TempDir(), "run")
	requireSuccess(t, locklab(t, "run", "--locks", "mcs,sync-mutex", "--workers", "1,2", "--hold", "250ns", "--rounds", "1", "--duration", "5ms", "--out", dir))
	before := requireRun(t, dir)
	cmd := simulateBy(t, exe, "--machine", "skylake-24", "--locks", "mcs", "--workers", "1,2", "--into", dir)
	requireSuccess(t, cmd, "0 lines, hold 250 ns, think 0 ns")
	after := requireRun(t, dir)
	if len(after.Results) != len(before.Results) || len(after.Simulations) != 2 || !after.Manifest.Finished.Equal(before.Manifest.Finished) {
		t.Errorf("%d results, were %d; %d simulations; finished %v, was %v", len(after.Results), len(before.Results), len(after.Simulations), after.Manifest.Finished, before.Manifest.Finished)
	}
}

func simulateInterrupt(t *testing.T, exe string) {
	cmd := simulateBy(t, exe, "--machine", "skylake-8x32", "--locks", "ticket,ttas", "--workers", "1..256", "--seeds", "1000", "-o", "run")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	startCommand(t, cmd)
	waitUntil(t, "simulation", func() bool {
		text, err := os.ReadFile(filepath.Join(cmd.Dir, "run", result.ResultsName))
		return err == nil && bytes.Contains(text, []byte(`"kind":"simulation"`))
	})
	status := endBy(t, cmd, os.Interrupt)
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if status != exitInterrupted || !run.Manifest.Interrupted || len(run.Simulations) == 0 || len(run.Damage) > 0 ||
		!strings.Contains(stdout.String(), "\nttas ") || !strings.Contains(stderr.String(), "interrupted: ") {
		t.Errorf("status %d, interrupted is %t, %d simulations, damage %v; said %q, printed\n%s",
			status, run.Manifest.Interrupted, len(run.Simulations), run.Damage, stderr.String(), stdout.String())
	}
}

// simulateHook: only the simulating build has a hook in its atomic operations, and no commands.
func simulateHook(t *testing.T, exe string) {
	hook := strings.Join([]string{"atomics.Set", "Scheduler"}, "") // assembled, so that this test does not contain the text
	for exe, want := range map[string]bool{buildProgram(t, ""): false, exe: true} {
		if text := readFile(t, exe); strings.Contains(text, hook) != want {
			t.Errorf("%s has the hook: %t, want %t", exe, !want, want)
		}
	}
	requireRefusal(t, simulateBy(t, exe, "--machine", "skylake-24", "--locks", "chan"), "does not see it")
	for _, command := range []string{"list", "run"} {
		cmd := locklab(t, command)
		cmd.Path = exe
		requireRefusal(t, cmd, "only simulates")
	}
}

func TestWorkerCounts(t *testing.T) {
	two := &simulate.Machine{Sockets: 2, Clusters: 1, Cores: 22, SMT: 2} // 88 threads
	for text, want := range map[string][]int{
		"":         {1, 2, 4, 8, 16, 22, 32, 44, 64},
		"1..":      {1, 2, 4, 8, 16, 22, 32, 44, 64, 88},
		"3..20":    {3, 4, 8, 16, 20},
		"5":        {5},
		"8,2,1..4": {1, 2, 4, 8},
		"1..256":   {1, 2, 4, 8, 16, 22, 32, 44, 64, 88, 128, 256}, // rejected later, with the reason
	} {
		if got, err := workerCounts(text, two); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}
