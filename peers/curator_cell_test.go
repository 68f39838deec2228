package peers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/peers"
)

// TestMeasureCurator runs every lock inside the Java process, and checks the
// figures that are known: what an acquisition asks of the server.
func TestMeasureCurator(t *testing.T) {
	if raceEnabled {
		t.Skip("it is about Java and the server, of which the race detector sees nothing; it runs without -race")
	}
	t.Parallel()
	const longest = 3200 * time.Millisecond
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for _, c := range []struct {
		recipe, mode string
		workers      int
		requests     float64 // per acquisition, 0 if that depends
	}{
		{"", "", 1, 3},
		{"mutex", "session", 4, 5},
		{"mutex", "object", 4, 5},
		{"mutex", "instance", 4, 0},
		{"semaphore", "session", 4, 9},
		{"rw", "session", 4, 5},
	} {
		t.Run(c.recipe+"/"+c.mode, func(t *testing.T) {
			cell := peers.CuratorCell{Recipe: c.recipe, Mode: c.mode, Workers: c.workers, Warmup: 200 * time.Millisecond, Window: 400 * time.Millisecond}
			o, sharp := measureCurator(t, at, cell)
			for tries := 1; !sharp; tries++ {
				if tries == 20 {
					t.Fatal("of 20 windows none has edges at which the server was read in time: the machine is too busy")
				}
				cell.Window = min(2*cell.Window, longest) // in which late reading matters less
				o, sharp = measureCurator(t, at, cell)
			}
			t.Logf("%+v", o)
			// On a busy machine the queue is empty now and then, which saves two.
			if c.requests > 0 && (o.requests > 1.1*c.requests || o.requests < min(c.requests, 3)*0.9) {
				t.Errorf("%.2f requests per acquisition, want about %v", o.requests, c.requests)
			}
		})
	}
}

// measureCurator measures one cell, and reports whether its requests can be
// judged: the server was read soon after either edge of the window, and there
// were so many turns that those under way at the edges do not count.
func measureCurator(t *testing.T, at harness.Endpoint, cell peers.CuratorCell) (o outcome, sharp bool) {
	t.Helper()
	m := meter{at: at, base: time.Now()}
	log, err := peers.MeasureCurator(t.Context(), at, newKey(), cell, m.base, m.read)
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(log.Close - log.Open); got < cell.Window-time.Millisecond || log.Close > int64(time.Since(m.base)) {
		t.Errorf("the window is %v", got)
	}
	if o, err = judge(log, cell.Workers); err == nil {
		err = m.perTurn(log, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	late := max(m.times[0]-log.Open, m.times[1]-log.Close)
	return o, late < int64(cell.Window)/50 && o.rate*cell.Window.Seconds() > float64(10*cell.Workers)
}

func TestMeasureCuratorRefuses(t *testing.T) {
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	nowhere := at
	nowhere.Kind = harness.KindRedis
	for name, c := range map[string]struct {
		at   harness.Endpoint
		cell peers.CuratorCell
		want string
	}{
		"recipe":     {at, peers.CuratorCell{Recipe: "barrier", Workers: 1}, "unknown recipe barrier"},
		"no workers": {at, peers.CuratorCell{}, "0 workers"},
		"servers":    {nowhere, peers.CuratorCell{Workers: 1}, "needs a ZooKeeper ensemble"},
	} {
		_, err := peers.MeasureCurator(t.Context(), c.at, newKey(), c.cell, time.Now(), func() {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
	}
}

// TestJudgeRejects keeps the oracle in the way of the figures.
func TestJudgeRejects(t *testing.T) {
	log := new(peers.CellLog)
	for _, text := range []string{"open 0", "turn 0 1 10 30", "turn 1 2 20 40", "close 100"} {
		part, err := peers.TakeLine(text, 2)
		if err != nil {
			t.Fatal(err)
		}
		log.Holds = append(log.Holds, part.Holds...)
		log.Close = max(log.Close, part.Close)
	}
	if _, err := judge(log, 2); err == nil || !strings.Contains(err.Error(), "exclusion") {
		t.Errorf("two holds that overlap: %v, want exclusion broken", err)
	}
	if _, err := judge(&peers.CellLog{Close: 100}, 2); err == nil {
		t.Error("a cell in which no worker got the lock is judged")
	}
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
		for _, h := range log.Holds {
			if err != nil || h.Worker < 0 || h.Worker >= 3 {
				t.Errorf("%q is taken as %+v, %v", text, h, err)
			}
		}
	})
}

// TestCuratorNoServers does not wait for ever.
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
