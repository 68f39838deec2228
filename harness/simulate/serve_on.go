//go:build systematic && simulate

package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"locklab/atomics"
	"locklab/harness"

	"locklab/internal/machine"
)

// Simulates reports whether this build simulates. A simulating build cannot measure: each
// of its atomic operations calls a scheduler.
const Simulates = true

// OffloadMain serves the parent of a process that was started for simulation, and ends the
// process; else it returns. locks are the available locks. It must come first in main.
func OffloadMain(locks []*harness.Variant) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	signal.Ignore(os.Interrupt) // the parent decides
	if err := serve(locks, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(locks []*harness.Variant, in io.Reader, out io.Writer) error {
	said := json.NewEncoder(out)
	h := hello{Protocol: protocol, Simulates: true, Commit: machine.BuildCommit()}
	for _, v := range locks {
		h.Locks = append(h.Locks, v.Name)
	}
	if err := said.Encode(h); err != nil {
		return err
	}
	asked := json.NewDecoder(bufio.NewReader(in))
	for {
		var r offloadRequest
		if err := asked.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("offload: a request: %w", err)
		}
		if err := said.Encode(answer(locks, r)); err != nil {
			return err
		}
	}
}

func answer(locks []*harness.Variant, r offloadRequest) (a reply) {
	m, err := Parse(r.Machine)
	if err != nil {
		return reply{Error: err.Error()}
	}
	if r.Duel != nil {
		var text bytes.Buffer
		if err := Duel(m, r.Duel[0], r.Duel[1], r.Workload.Seed, &text); err != nil {
			return reply{Error: err.Error()}
		}
		return reply{Text: text.String()}
	}
	i := slices.IndexFunc(locks, func(v *harness.Variant) bool { return v.Name == r.Lock })
	if i < 0 {
		return reply{Error: fmt.Sprintf("offload: no lock is called %q", r.Lock)}
	}
	if !seen(locks[i]) {
		return reply{Error: fmt.Sprintf("offload: %s is taken without a word of package atomics: the model does not see it", r.Lock)}
	}
	s, err := Simulate(m, locks[i], r.Workload, r.Seeds)
	if err != nil {
		return reply{Error: err.Error()}
	}
	return reply{Simulation: &s}
}

// seen reports whether the model sees a worker take v. Workers of a lock made of other
// words would wait for each other forever.
func seen(v *harness.Variant) bool {
	if v.Local == nil {
		return true // simulate.CheckVariant refuses it
	}
	accesses := 0
	l := v.Local(harness.Setup{Workers: 1, Wait: harness.WaitPause}).Worker(0)
	restore := atomics.SetScheduler(func(a atomics.Access) uint64 {
		accesses++
		before := a.Word.Get()
		a.Word.Set(a.After(before))
		return before
	})
	defer restore()
	l.Lock()
	taken := accesses
	l.Unlock()
	return taken > 0
}
