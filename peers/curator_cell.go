package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

const cellDrain = 10 * time.Second

// measureCurator runs w on the lock called key in a cell, a closed loop inside the Java process.
// Each worker is a thread that needs no message, so its times are those of a Java program. It calls
// edge twice, when the window opens and when it closes, so that the caller can read the servers'
// counters. Times are relative to base; the Java process and this one read the same clock, or clocks whose
// difference is measured to within half a loopback round trip.
//
// The error wraps [harness.ErrUnavailable] if Curator cannot run here. A cell that does not end
// in time is an error too, and its process is killed.
func measureCurator(ctx context.Context, java *javaPeer, at harness.Endpoint, key string, recipe curatorRecipe, w harness.Workload, base time.Time, edge func()) (*harness.LoopLog, error) {
	mode, err := cellMode(recipe, w)
	if err != nil {
		return nil, err
	}
	where, err := curatorServers(at)
	if err != nil {
		return nil, err
	}
	proc, err := java.hire(ctx)
	if err != nil {
		return nil, err
	}
	defer java.dismiss(proc)
	ctx, cancel := context.WithTimeoutCause(ctx, javaStart+w.Warmup+w.Window+cellDrain+java.answer, errors.New("it did not end in time"))
	defer cancel()
	offset, err := proc.clockOffset(ctx, base)
	if err != nil {
		proc.suspect()
		return nil, err
	}
	run := &cellRun{log: &harness.LoopLog{Began: base}, workers: int64(w.Workers), offset: offset, edge: edge}
	if err = run.drive(ctx, proc, append(where, cellWords(key, recipe.name, mode, w)...)); err != nil {
		if ctx.Err() != nil {
			proc.suspect()
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return nil, fmt.Errorf("peers: cell of Curator: %w", err)
	}
	return run.log, nil
}

func cellWords(key, recipe, mode string, w harness.Workload) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		"path", "/locklab/" + key, "workers", strconv.Itoa(w.Workers), "recipe", recipe, "mode", mode,
		"warm_ms", number(w.Warmup.Milliseconds()), "run_ms", number(w.Window.Milliseconds()), "drain_ms", number(cellDrain.Milliseconds()),
		"hold_ns", number(int64(w.Hold.Mean)), "think_ns", number(int64(w.Think.Mean)),
	}
}

// clockOffset returns the difference between ns since base and the process's clock.
func (j *javaProcess) clockOffset(ctx context.Context, base time.Time) (int64, error) {
	l, _, err := j.dial(ctx, "clock")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	l.conn.SetDeadline(time.Now().Add(j.answer))
	var offset int64
	best := time.Duration(1<<63 - 1)
	for range 32 {
		sent := time.Since(base)
		text, err := l.ask("now")
		trip := time.Since(base) - sent
		if err != nil {
			return 0, fmt.Errorf("peers: clock: %w", err)
		}
		now, err := strconv.ParseInt(strings.TrimPrefix(text, "now "), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("peers: clock: %w", err)
		}
		if trip < best {
			best, offset = trip, int64(sent+trip/2)-now
		}
	}
	return offset, nil
}

type cellRun struct {
	log     *harness.LoopLog
	workers int64
	offset  int64
	edge    func()
}

func (r *cellRun) drive(ctx context.Context, proc *javaProcess, pairs []string) error {
	l, text, err := proc.dial(ctx, "cell", pairs...)
	if err != nil {
		return err
	}
	defer l.Close()
	defer context.AfterFunc(ctx, l.Close)()
	for text != "done" {
		if err := r.take(text); err != nil {
			return err
		}
		if text, err = l.read(); err != nil {
			return err
		}
	}
	return nil
}

// take parses one line of the process about the cell.
func (r *cellRun) take(text string) error {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "open", "close":
		n, err := integers(rest, 1)
		if err != nil {
			return err
		}
		if at := n[0] + r.offset; verb == "open" {
			r.log.Open = at
		} else {
			r.log.Close = at
		}
		r.edge()
	case "turn":
		n, err := integers(rest, 4)
		if err != nil {
			return err
		}
		if n[0] < 0 || n[0] >= r.workers {
			return fmt.Errorf("%q: there is no such worker", text)
		}
		r.log.Acquisitions = append(r.log.Acquisitions, harness.Hold{Worker: int(n[0]),
			Requested: n[1] + r.offset, Acquired: n[2] + r.offset, Releasing: n[3] + r.offset})
	case "drained":
		if rest != "0" {
			return fmt.Errorf("%s workers still waited %v after the end: the lock is stuck", rest, cellDrain)
		}
	case "failed":
		return fmt.Errorf("worker %s", rest)
	default:
		return fmt.Errorf("unexpected line %q", text)
	}
	return nil
}

// integers returns the numbers in text, of which there must be count.
func integers(text string, count int) (out []int64, err error) {
	for _, field := range strings.Fields(text) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, n)
	}
	if len(out) != count {
		return nil, fmt.Errorf("%q: want %d numbers", text, count)
	}
	return out, nil
}

// curatorLoop returns the Loop of a lock that recipe makes. The servers count its requests,
// with pings, the readings (less than 1 %), and other clients of a user's server.
func curatorLoop(recipe curatorRecipe) harness.Loop {
	return func(ctx context.Context, at harness.Endpoint, key string, w harness.Workload) (*harness.LoopLog, error) {
		m := &meter{at: at, began: time.Now()}
		log, err := measureCurator(ctx, curatorJava, at, key, recipe, w, m.began, func() { m.read(ctx) })
		if err != nil {
			return nil, err
		}
		log.Wire = m.within(log)
		return log, nil
	}
}

// cellMode returns what the workers of w share: nothing in mode "session", a session in mode
// "object", and a lock object too in mode "instance". The error wraps [harness.ErrUsage] if a cell
// cannot run w.
func cellMode(recipe curatorRecipe, w harness.Workload) (string, error) {
	no := func(what string) (string, error) {
		return "", fmt.Errorf("peers: %w: Curator's process has no %s", harness.ErrUsage, what)
	}
	switch clients := cmp.Or(w.Clients, w.Workers); {
	case w.Workers < 1:
		return no(fmt.Sprintf("cell of %d workers", w.Workers))
	case w.Reads > 0:
		return no("mix of readers and writers")
	case w.Hold.Exp || w.Think.Exp:
		return no("exponential times")
	case w.Hold.Mix != "" || w.Think.Mix != "":
		return no("times that are a mixture")
	case w.Section != harness.SectionWork:
		return no("data behind the lock")
	case w.Pin != harness.PinNone || w.GOMAXPROCS != 0:
		return no("workers bound to processors")
	case clients == w.Workers:
		return "session", nil
	case clients > 1:
		return no("several sessions that share the workers")
	case recipe.instance:
		return "instance", nil
	}
	return "object", nil
}

type meter struct {
	at    harness.Endpoint
	began time.Time
	times []int64 // of the readings, ns since began
	seen  []harness.Counts
	err   error
}

func (m *meter) read(ctx context.Context) {
	before := time.Since(m.began)
	n, err := served(ctx, m.at)
	m.times = append(m.times, int64(before+time.Since(m.began))/2)
	m.seen, m.err = append(m.seen, n), cmp.Or(m.err, err)
}

// within returns the servers' counts in the window of log, nil if unknown. They are read a
// little late, so they are scaled by the acquisitions in between.
func (m *meter) within(log *harness.LoopLog) *harness.Counts {
	if m.err != nil || len(m.seen) != 2 {
		return nil
	}
	read, window := acquired(log, m.times[0], m.times[1]), acquired(log, log.Open, log.Close)
	if read == 0 {
		return nil
	}
	d := m.seen[1].Sub(m.seen[0])
	scale := func(n uint64) uint64 { return uint64(float64(n)*float64(window)/float64(read) + 0.5) }
	return &harness.Counts{Requests: scale(d.Requests), Notifications: scale(d.Notifications)}
}

func acquired(log *harness.LoopLog, from, to int64) (n int) {
	for _, h := range log.Acquisitions {
		if h.Acquired >= from && h.Acquired < to {
			n++
		}
	}
	return n
}

// served returns the packets that all servers have received, and sent as notifications.
func served(ctx context.Context, at harness.Endpoint) (total harness.Counts, err error) {
	counts := make([]harness.Counts, len(at.Addrs[0]))
	errs := make([]error, len(counts))
	var wg sync.WaitGroup
	for i, addr := range at.Addrs[0] {
		wg.Go(func() { counts[i], errs[i] = servedBy(ctx, at, addr) })
	}
	wg.Wait()
	for _, c := range counts {
		total = total.Add(c)
	}
	return total, errors.Join(errs...)
}

const servedPatience = 10 * time.Second

func servedBy(ctx context.Context, at harness.Endpoint, addr string) (harness.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, servedPatience)
	defer cancel()
	text, err := backend.FourLetters(ctx, at, addr, "mntr")
	if err != nil {
		return harness.Counts{}, err
	}
	values := make(map[string]uint64)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			values[name], _ = strconv.ParseUint(value, 10, 64) // some are not numbers
		}
	}
	received, sent := values["zk_packets_received"], values["zk_packets_sent"]
	if received == 0 {
		return harness.Counts{}, fmt.Errorf("peers: %s does not answer mntr: 4lw.commands.whitelist allows it", addr)
	}
	return harness.Counts{Requests: received, Notifications: max(sent, received) - received}, nil
}
