package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

// ratesHead is the first line of WriteRates: the origin of the run.
type ratesHead struct {
	Command []string            `json:"command"`
	Started time.Time           `json:"started"`
	Rounds  int                 `json:"rounds"`
	Machine machine.Environment `json:"machine"`
}

// ratesLine is a case: its rates by round, 0 for a missing round.
type ratesLine struct {
	Lock      harness.Lock     `json:"lock"`
	Workload  harness.Workload `json:"workload"`
	Rates     []digits         `json:"rates"`               // acquisitions per second
	Handovers []digits         `json:"handovers,omitempty"` // per second
	Blocks    []ratesBlocks    `json:"blocks,omitempty"`    // by round, if the locks took turns
}

// ratesBlocks are the blocks of a result, by pass, per second.
type ratesBlocks struct {
	Process   uint64   `json:"process"` // 0 without blocks
	Rates     []digits `json:"rates,omitempty"`
	Handovers []digits `json:"handovers,omitempty"`
}

// ratesOf returns the rates of n, which are in each pass, with its length of ns.
func ratesOf(n []uint64, ns []int64) (out []digits) {
	for i, k := range n {
		out = append(out, digits(float64(k)/(float64(ns[i])/1e9)))
	}
	return out
}

// ratesElapsed is the window of results that come from rates: counts have all digits.
const ratesElapsed = 1000 * time.Second

func countsOf(rates []digits) (out []uint64) {
	for _, r := range rates {
		out = append(out, uint64(math.Round(float64(r)*ratesElapsed.Seconds())))
	}
	return out
}

func (b ratesBlocks) blocks() *harness.Blocks {
	if b.Process == 0 {
		return nil
	}
	return &harness.Blocks{Process: b.Process, Elapsed: slices.Repeat([]int64{int64(ratesElapsed)}, len(b.Rates)), Ops: countsOf(b.Rates), Handovers: countsOf(b.Handovers)}
}

type digits float64

func (d digits) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(d), 'g', 5, 64), nil
}

// WriteRates writes the rates of every case of run by round: the least data that
// reproduce most verdicts, in some kilobytes. Locks that broke a promise are left out.
// The distribution of acquisitions among workers is not included, so fairness decides
// nothing.
func WriteRates(out io.Writer, run *Run) error {
	m := run.Manifest
	text := json.NewEncoder(out)
	if err := text.Encode(ratesHead{m.Command, m.Started, m.Rounds, m.Machine}); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	broken, rounds := make(map[string]bool), 0
	for _, r := range run.Results {
		broken[r.Lock.Name] = broken[r.Lock.Name] || len(r.Violations) > 0
		rounds = max(rounds, r.Round+1)
	}
	lines := make(map[string]*ratesLine)
	var order []*ratesLine
	for _, r := range run.Results {
		if broken[r.Lock.Name] || r.Elapsed <= 0 {
			continue
		}
		name := r.Lock.Name + " " + r.Workload.Name()
		l := lines[name]
		if l == nil {
			l = &ratesLine{Lock: r.Lock, Workload: r.Workload, Rates: make([]digits, rounds), Handovers: make([]digits, rounds), Blocks: make([]ratesBlocks, rounds)}
			l.Lock.Doc, l.Lock.Paper = "", ""
			lines[name], order = l, append(order, l)
		}
		l.Rates[r.Round] = digits(float64(r.Ops) / r.Elapsed.Seconds())
		l.Handovers[r.Round] = digits(float64(r.Handovers) / r.Elapsed.Seconds())
		if b := r.Blocks; b != nil && b.Valid() {
			l.Blocks[r.Round] = ratesBlocks{b.Process, ratesOf(b.Ops, b.Elapsed), ratesOf(b.Handovers, b.Elapsed)}
		}
	}
	for _, l := range order {
		if l.Workload.Workers < 2 {
			l.Handovers = nil
		}
		if err := text.Encode(l); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	return nil
}

// ReadRates reads the output of WriteRates. Its results and their blocks have windows of a
// thousand seconds.
func ReadRates(in io.Reader) (*Run, error) {
	text := json.NewDecoder(bufio.NewReader(in))
	var head ratesHead
	if err := text.Decode(&head); err != nil {
		return nil, fmt.Errorf("result: rates: %w", err)
	}
	run := &Run{Manifest: Manifest{Schema: Schema, Command: head.Command, Started: head.Started, Finished: head.Started, Rounds: head.Rounds, Machine: head.Machine}}
	for {
		var l ratesLine
		if err := text.Decode(&l); errors.Is(err, io.EOF) {
			return run, nil
		} else if err != nil {
			return nil, fmt.Errorf("result: rates: %w", err)
		}
		for round, rate := range l.Rates {
			if !(rate > 0) {
				continue
			}
			r := &harness.Result{Lock: l.Lock, Workload: l.Workload, Round: round, Elapsed: ratesElapsed, Overlap: 1, Ops: countsOf(l.Rates[round : round+1])[0]}
			if round < len(l.Handovers) {
				r.Handovers = countsOf(l.Handovers[round : round+1])[0]
			}
			if round < len(l.Blocks) {
				r.Blocks = l.Blocks[round].blocks()
			}
			run.Results = append(run.Results, r)
		}
	}
}
