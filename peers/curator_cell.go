package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

const cellDrain = 10 * time.Second

// measureCurator runs w on the lock called key in a cell, a closed loop inside the Java process.
// Each worker is a thread that needs no message, so its times are the times of a Java program, by its
// own clock. It calls count when the window opens and when it closes, to read the servers' counters.
//
// The error wraps [harness.ErrUnavailable] if Curator cannot run here. A cell that does not end
// in time is an error too, and its process is killed.
func measureCurator(ctx context.Context, java *javaPeer, at harness.Endpoint, key string, recipe curatorRecipe, w harness.Workload, count func() (harness.Counts, error)) (*harness.LoopLog, error) {
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
	run := &cellRun{workers: w.Workers, count: count}
	if err = run.drive(ctx, proc, append(where, cellWords(key, recipe.name, mode, w)...)); err != nil {
		if ctx.Err() != nil {
			proc.suspect()
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return nil, fmt.Errorf("peers: cell of Curator: %w", err)
	}
	run.log.Wire = run.wire()
	return &run.log, nil
}

func cellWords(key, recipe, mode string, w harness.Workload) []string {
	return []string{
		"path", "/locklab/" + key, "workers", fmt.Sprint(w.Workers), "recipe", recipe, "mode", mode,
		"warm_ms", fmt.Sprint(w.Warmup.Milliseconds()), "run_ms", fmt.Sprint(w.Window.Milliseconds()), "drain_ms", fmt.Sprint(cellDrain.Milliseconds()),
		"hold_ns", fmt.Sprint(int64(w.Hold.Mean)), "think_ns", fmt.Sprint(int64(w.Think.Mean)),
	}
}

type cellRun struct {
	log      harness.LoopLog
	workers  int
	count    func() (harness.Counts, error)
	readings []reading
}

// A reading is one of the servers' counters.
type reading struct {
	at     int64 // ns since the log began
	counts harness.Counts
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
	var err error
	switch verb {
	case "open":
		_, err = fmt.Sscan(rest, &r.log.Open)
		r.log.Began = time.Now().Add(-time.Duration(r.log.Open))
		r.read()
	case "close":
		_, err = fmt.Sscan(rest, &r.log.Close)
		r.read()
	case "turn":
		var h harness.Hold
		_, err = fmt.Sscan(rest, &h.Worker, &h.Requested, &h.Acquired, &h.Releasing)
		if err == nil && (h.Worker < 0 || h.Worker >= r.workers) {
			err = errors.New("there is no such worker")
		}
		if err == nil {
			r.log.Acquisitions = append(r.log.Acquisitions, h)
		}
	case "drained":
		if rest != "0" {
			return fmt.Errorf("%s workers still waited %v after the end: the lock is stuck", rest, cellDrain)
		}
	case "failed":
		return fmt.Errorf("worker %s", rest)
	default:
		err = errors.New("unexpected line")
	}
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

func (r *cellRun) read() {
	before := time.Since(r.log.Began)
	if n, err := r.count(); err == nil {
		r.readings = append(r.readings, reading{int64(before+time.Since(r.log.Began)) / 2, n})
	}
}

// wire returns the servers' counts in the window, nil if unknown. They are read a little late, so
// they are scaled by the acquisitions in between.
func (r *cellRun) wire() *harness.Counts {
	if len(r.readings) != 2 {
		return nil
	}
	first, last := r.readings[0], r.readings[1]
	var read, window float64 // acquisitions
	for _, h := range r.log.Acquisitions {
		if h.Acquired >= first.at && h.Acquired < last.at {
			read++
		}
		if h.Acquired >= r.log.Open && h.Acquired < r.log.Close {
			window++
		}
	}
	if read == 0 {
		return nil
	}
	d := last.counts.Sub(first.counts)
	scale := func(n uint64) uint64 { return uint64(float64(n)*window/read + 0.5) }
	return &harness.Counts{Requests: scale(d.Requests), Notifications: scale(d.Notifications)}
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
	}
	return cmp.Or(recipe.mode, "object"), nil
}

// served returns the packets that all servers have received, and sent as notifications.
func served(ctx context.Context, at harness.Endpoint) (total harness.Counts, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, addr := range at.Addrs[0] {
		text, err := backend.FourLetters(ctx, at, addr, "mntr")
		if err != nil {
			return total, err
		}
		values := make(map[string]uint64)
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
			values[name], _ = strconv.ParseUint(value, 10, 64) // some are not numbers
		}
		received, sent := values["zk_packets_received"], values["zk_packets_sent"]
		if received == 0 {
			return total, fmt.Errorf("peers: %s does not answer mntr: 4lw.commands.whitelist allows it", addr)
		}
		total = total.Add(harness.Counts{Requests: received, Notifications: max(sent, received) - received})
	}
	return total, nil
}
