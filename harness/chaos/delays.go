package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// The machine may keep the processes of a try from running, and a lock then seems to stall. So
// a worker process and the lab measure how late they wake, and for a server the lab reads how
// long its threads were ready and did not run.

// beat is the interval at which a process checks that it runs. A gap longer than late is a delay.
const (
	beat       = 5 * time.Millisecond
	late       = 2 * beat
	serverBeat = 200 * time.Millisecond
)

// watch records the delays of the lab and of the servers until the caller calls end.
func (t *Try) watch() (end func()) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		p := pulse{last: now()}
		every(stop, beat, func() { p.beat(func(from, to int64) { t.delay("the lab", from, to) }) })
	})
	done.Go(func() { t.watchServers(stop) })
	return sync.OnceFunc(func() {
		close(stop)
		done.Wait()
	})
}

// every calls f at each interval until stop is closed.
func every(stop <-chan struct{}, interval time.Duration, f func()) {
	for ticks := time.Tick(interval); ; {
		select {
		case <-stop:
			return
		case <-ticks:
			f()
		}
	}
}

type pulse struct{ last int64 }

func (p *pulse) beat(tell func(from, to int64)) {
	at := now()
	if from := p.last + int64(beat); at-p.last > int64(late) {
		tell(from, at)
	}
	p.last = at
}

func (t *Try) delay(process string, from, to int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delays = append(t.delays, oracle.Delay{Process: process, From: from, To: to})
}

// watchServers polls how long the threads of servers waited to run. Only the longest wait counts: a
// Java virtual machine that compiles on a busy machine waits all the time, and still serves.
func (t *Try) watchServers(stop <-chan struct{}) {
	waited := make(map[int]map[string]time.Duration) // by process and thread
	since := now()
	ask := func() {
		at := now()
		for _, pid := range t.serverPIDs() {
			before := waited[pid]
			waited[pid] = machine.RunDelays(pid)
			if before == nil {
				continue
			}
			var longest time.Duration
			for thread, d := range waited[pid] {
				longest = max(longest, d-before[thread])
			}
			if d := min(int64(longest), at-since); d > int64(late) {
				t.delay(fmt.Sprintf("server process %d", pid), at-d, at)
			}
		}
		since = at
	}
	ask()
	every(stop, serverBeat, ask)
	ask()
}

func (t *Try) serverPIDs() (pids []int) {
	t.Stage.mu.Lock()
	defer t.Stage.mu.Unlock()
	for _, s := range t.servers {
		pids = append(pids, s.PIDs()...)
	}
	return pids
}

func (h *Host) delayed(from, to int64) {
	h.mu.Lock()
	paused := slices.ContainsFunc(h.pauses, func(p pause) bool { return p.from < to && (p.to == 0 || from < p.to) })
	h.mu.Unlock()
	if paused {
		return
	}
	h.t.delay(fmt.Sprintf("worker process %d", h.proc.PID()), from, to)
	for _, w := range listed(&h.mu, &h.workers) {
		if from < to && w.Lock.holds(w) {
			w.Lock.record(oracle.Event{At: from - int64(beat), Worker: w.ID, Kind: oracle.Starved, Deadline: to})
		}
	}
}

var timed = []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken, oracle.Lost}

func (t *Try) excuses(expected result.Expectation) *oracle.Delays {
	anomalies := slices.DeleteFunc(slices.Clone(timed), func(h oracle.Anomaly) bool { return slices.Contains(expected.Anomalies, h) })
	t.mu.Lock()
	defer t.mu.Unlock()
	return oracle.NewDelays(t.delays, anomalies...)
}
