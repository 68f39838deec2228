package lab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// soughtTwo are the flags of a run that searches two saturation points.
var soughtTwo = []string{"run", "--locks", "chan,sync-mutex", "--hold", "50us", "--rate", "closed,auto", "--workers", "4", "--rounds", "1", "--duration", "20ms", "--seed", "5", "--out", "run"}

// stoppedAt starts cmd, stops it at the first line that matches at, and returns its output.
func stoppedAt(t *testing.T, cmd *exec.Cmd, at func(line string) bool, stop func(*os.Process)) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	done := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if !done && at(lines.Text()) {
			done = true
			stop(cmd.Process)
		}
	}
	cmd.Wait()
	return said.String()
}

// TestSeekGoesOn: an interrupted or killed search resumes and makes no probe twice.
func TestSeekGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	apart(t)
	for _, c := range []struct {
		name   string
		stop   func(*os.Process)
		status int
		said   bool // it printed the progress
	}{
		{"Ctrl-C", func(p *os.Process) { p.Signal(os.Interrupt) }, exitInterrupted, true},
		{"Ctrl-C twice", func(p *os.Process) {
			p.Signal(os.Interrupt)
			time.Sleep(time.Millisecond)
			p.Signal(os.Interrupt)
		}, -1, false},
		{"killed", func(p *os.Process) { p.Signal(syscall.SIGKILL) }, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := locklab(t, soughtTwo...)
			dir := filepath.Join(cmd.Dir, "run")
			said := stoppedAt(t, cmd, func(line string) bool {
				return strings.HasPrefix(line, "lock=sync-mutex/") && strings.Contains(line, ": probe 4 ")
			}, c.stop)
			m, err := result.ReadManifest(dir)
			if err != nil {
				t.Fatalf("%v: it said %s", err, said)
			}
			if m.Seeking == nil || len(m.Knees) != 1 || m.Knees[0].Lock != "chan" || m.Seeking.Lock != "sync-mutex" || len(m.Seeking.Trials) < 4 || m.Seeking.Closed == 0 {
				t.Fatalf("the manifest has %+v, and of the next %+v; it said %s", m.Knees, m.Seeking, said)
			}
			status, made := cmd.ProcessState.ExitCode(), len(m.Seeking.Trials)
			want := fmt.Sprintf("\ninterrupted: run holds 1 of 2 knees and %d probes of the next; go on with: locklab run --resume --out run\n", made)
			if c.said && (status != c.status || !strings.HasSuffix(said, want)) || !c.said && status != c.status && status != exitInterrupted {
				t.Errorf("exit status %d, said %s", status, said)
			}
			again := locklab(t, "run", "--resume", "--out", "run")
			again.Dir = cmd.Dir
			_, stderr, status := output(t, again)
			if status != 0 || !strings.Contains(stderr, "1 of 2 knees was found before\nlooking for the knee of 1 case, ") ||
				strings.Contains(stderr, "lock=chan/workers=4/hold=50µs/rate=auto: probe") || strings.Contains(stderr, fmt.Sprintf("rate=auto: probe %d ", made)) ||
				!strings.Contains(stderr, fmt.Sprintf("rate=auto: probe %d ", made+1)) {
				t.Fatalf("exit status %d after %d probes, said %s", status, made, stderr)
			}
			after, err := result.ReadManifest(dir)
			if err != nil {
				t.Fatal(err)
			}
			if ks := after.Knees; after.Seeking != nil || len(ks) != 2 || !reflect.DeepEqual(ks[0], m.Knees[0]) || ks[1].Closed != m.Seeking.Closed ||
				len(ks[1].Trials) <= made || !reflect.DeepEqual(ks[1].Trials[:made], m.Seeking.Trials) {
				t.Errorf("after it went on: %+v, still looking for %+v; before %+v and %+v", ks, after.Seeking, m.Knees, m.Seeking)
			}
			once(t, dir, 2+len(after.Knees[0].Rates)+len(after.Knees[1].Rates), 1)
		})
	}
}

// TestSeekPlannedBefore: a search is resumed before its budget is spent, a complete one not.
func TestSeekPlannedBefore(t *testing.T) {
	o := optionsOf(t, "--locks=sync-mutex,chan --workers=4 --budget=1h --resume --rate=auto --out=run")
	load := harness.Workload{Workers: 4, Locks: 1, Hold: harness.Span{Mean: defaultHold}}
	found := result.Knee{Lock: "sync-mutex", Workload: load, Rates: []harness.Rate{1e5}}
	m := result.Manifest{Rounds: 7, Window: 20 * time.Millisecond, Knees: []result.Knee{found}, Seeking: &result.Knee{Lock: "chan", Workload: load}}
	p, err := o.planAgain(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cases {
		if !c.Unknown() || c.Workload.Window != 20*time.Millisecond {
			t.Errorf("%s with a window of %v, want one whose rate is to be found, and 20ms", c.Name(), c.Workload.Window)
		}
	}
	if len(p.Cases) != 2 || p.Cases[0].HasKnee(found) == p.Cases[1].HasKnee(found) {
		t.Errorf("the knee is that of none or of both of %d cases", len(p.Cases))
	}
	if o.begun = m.Seeking; !o.fits() {
		t.Error("the budget of a run that has measured nothing is not spent")
	}
	if o.begun = nil; o.fits() {
		t.Error("the budget of a run that has begun to measure is spent twice")
	}
	m.Seeking, m.Knees = nil, []result.Knee{found, {Lock: "chan", Workload: load, Missing: "was not acquired once"}}
	if p, err := o.planAgain(m); err != nil || len(p.Cases) != 1 {
		t.Errorf("%v, want the one case whose knee was found", err)
	}
	m.Knees[0].Rates, m.Knees[0].Missing = nil, "was not acquired once"
	if _, err := o.planAgain(m); err == nil || !strings.Contains(err.Error(), "nothing is left to measure: the knee of sync-mutex was not found: it was not acquired once") {
		t.Errorf("without any: %v", err)
	}
}
