package peers_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
	"locklab/internal/machine"
	"locklab/peers"
)

// TestCuratorLoop measures every lock inside the Java process, and checks its known requests.
func TestCuratorLoop(t *testing.T) {
	needTime(t)
	needJavaAlone(t)
	const longest = 3200 * time.Millisecond
	at, in := locktest.Endpoint(t, harness.KindZooKeeper), measure.Calibrate()
	for _, c := range []struct {
		lock             string
		workers, clients int
		requests         float64 // per acquisition, 0 if it varies
	}{
		{"curator-mutex", 1, 0, 3},
		{"curator-mutex", 4, 0, 5},
		{"curator-mutex", 4, 1, 5},
		{"curator-mutex-shared", 4, 1, 0},
		{"curator-semaphore-mutex", 4, 0, 9},
		{"curator-rw", 4, 0, 5},
	} {
		t.Run(fmt.Sprintf("%s/workers=%d/clients=%d", c.lock, c.workers, c.clients), func(t *testing.T) {
			w := harness.Workload{Workers: c.workers, Clients: c.clients, Warmup: 200 * time.Millisecond, Window: 400 * time.Millisecond}
			r := measureLoop(t, in, at, c.lock, w)
			for ; r.Ops < uint64(10*c.workers) && w.Window < longest; r = measureLoop(t, in, at, c.lock, w) {
				w.Window *= 2 // a busy machine
			}
			requests, ok := result.Requests.Of(r)
			// On a busy machine the queue is sometimes empty, which saves two.
			if c.requests > 0 && (!ok || requests > 1.1*c.requests || requests < min(c.requests, 3)*0.9) {
				t.Errorf("%.2f requests per acquisition, want about %v", requests, c.requests)
			}
			if _, ok := result.Switches.Of(r); ok {
				t.Error("it says how often this process waited, though the workers are in another")
			}
			if got := time.Duration(r.Elapsed); got < w.Window-time.Millisecond || got > 2*w.Window || r.Overlap < 0.5 {
				t.Errorf("the window is %v of %v, in %.0f %% of which all workers ran", got, w.Window, 100*r.Overlap)
			}
			if c.workers > 1 && (len(r.HandoverWait) == 0 || r.Handovers == 0) {
				t.Errorf("%d handovers, %d of them timed", r.Handovers, r.HandoverWait.Count())
			}
		})
	}
}

func measureLoop(t *testing.T, in *measure.Instruments, at harness.Endpoint, name string, w harness.Workload) *result.Result {
	t.Helper()
	r, err := measure.Measure(t.Context(), in, measure.Job{Lock: variant(name), At: at, Key: newKey(), Workload: w})
	requireNoError(t, err)
	if len(r.Violations) > 0 {
		t.Fatalf("violations: %+v", r.Violations)
	}
	return r
}

// TestCuratorByMessages: an unsupported workload is driven from here, as the result records.
func TestCuratorByMessages(t *testing.T) {
	t.Parallel()
	needJava(t)
	at, in := locktest.Endpoint(t, harness.KindZooKeeper), measure.Calibrate()
	w := harness.Workload{Workers: 2, Hold: harness.Span{Mean: time.Millisecond, Exp: true}, Warmup: 10 * time.Millisecond, Window: 50 * time.Millisecond}
	r := measureLoop(t, in, at, "curator-mutex", w)
	if !slices.ContainsFunc(r.Warnings, func(w machine.Warning) bool { return w.Kind == "messages" }) {
		t.Errorf("warnings are %+v, want one of the messages to Java", r.Warnings)
	}
}

func TestMeasureCuratorRefuses(t *testing.T) {
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	nowhere := at
	nowhere.Kind = harness.KindRedis
	for name, c := range map[string]struct {
		at      harness.Endpoint
		recipe  string
		workers int
		want    string
	}{
		"recipe":     {at, "barrier", 1, "unknown recipe barrier"},
		"no workers": {at, "mutex", 0, "0 workers"},
		"servers":    {nowhere, "mutex", 1, "needs a ZooKeeper ensemble"},
	} {
		err := peers.MeasureCurator(t.Context(), peers.CuratorJava, c.at, newKey(), c.recipe, harness.Workload{Workers: c.workers}, func() {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
	}
}

// TestCuratorErrors: an Error of Java in a lock ends a client and a cell, and no session stays.
func TestCuratorErrors(t *testing.T) {
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	p, err := faultproxy.New(at.Addrs[0][0], faultproxy.Unread, faultproxy.Options{})
	requireNoError(t, err)
	defer p.Close()
	at.Addrs = [][]string{{p.Addr()}}
	dir := t.TempDir()
	damaged := filepath.Join(dir, "org/apache/curator/framework/recipes/locks/InterProcessMutex$LockData.class")
	requireNoError(t, errors.Join(os.MkdirAll(filepath.Dir(damaged), 0o700), os.WriteFile(damaged, nil, 0o600)))
	t.Setenv(peers.CuratorEnv, dir+":"+cmp.Or(os.Getenv(peers.CuratorEnv), strings.Join(peers.CuratorJars, ":")))
	java := peers.NewJavaPeer(javaAnswer, time.Minute, 10*time.Second) // the Error ends the warm-up
	if _, err := java.Client(t.Context(), at, newKey()); err == nil || !strings.Contains(err.Error(), "Curator: ") {
		t.Errorf("the client's error is %v, want the cause", err)
	}
	w := harness.Workload{Workers: 2, Window: time.Second}
	err = peers.MeasureCurator(t.Context(), java, at, newKey(), "mutex", w, func() {})
	if err == nil || !strings.Contains(err.Error(), "ClassFormatError") {
		t.Errorf("the cell's error is %v, want the cause", err)
	}
	waitUntil(t, "no session stays", func() bool { return p.Conns() == 0 })
	java.EndInput()
}

func TestTakeLineRefuses(t *testing.T) {
	for _, text := range []string{"", "turn", "turn 0 1 2", "turn 2 1 2 3", "turn -1 1 2 3", "turn 0 1 2 x", "open", "open x", "drained 1", "failed 1 java.lang.Error", "nonsense 1"} {
		if _, err := peers.TakeLine(text, 2); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzTakeLine(f *testing.F) {
	for _, text := range []string{"turn 1 2 3 4", "open 9", "close 10", "drained 0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		log, err := peers.TakeLine(text, 3)
		for _, h := range log.Acquisitions {
			if err != nil || h.Worker < 0 || h.Worker >= 3 {
				t.Errorf("%q is taken as %+v, %v", text, h, err)
			}
		}
	})
}

func TestCuratorNoServers(t *testing.T) {
	t.Parallel()
	needJava(t)
	dead := harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{{"127.0.0.1:1"}}, SessionTimeout: time.Second}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	_, err := variant("curator-mutex").Remote(ctx, dead, newKey())
	if !errors.Is(err, harness.ErrUnavailable) || time.Since(start) > 15*time.Second {
		t.Errorf("no servers: %v after %v, want ErrUnavailable soon", err, time.Since(start))
	}
}
