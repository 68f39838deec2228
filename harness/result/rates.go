package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
			l = &ratesLine{Lock: r.Lock, Workload: r.Workload, Rates: make([]digits, rounds), Handovers: make([]digits, rounds)}
			l.Lock.Doc, l.Lock.Paper = "", ""
			lines[name], order = l, append(order, l)
		}
		l.Rates[r.Round] = digits(float64(r.Ops) / r.Elapsed.Seconds())
		l.Handovers[r.Round] = digits(float64(r.Handovers) / r.Elapsed.Seconds())
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

// ReadRates reads the output of WriteRates. Its results have windows of a thousand
// seconds, so that counts have all digits of the rates.
func ReadRates(in io.Reader) (*Run, error) {
	const elapsed = 1000 * time.Second
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
			r := &harness.Result{Lock: l.Lock, Workload: l.Workload, Round: round, Elapsed: elapsed, Overlap: 1, Ops: uint64(math.Round(float64(rate) * elapsed.Seconds()))}
			if round < len(l.Handovers) {
				r.Handovers = uint64(math.Round(float64(l.Handovers[round]) * elapsed.Seconds()))
			}
			run.Results = append(run.Results, r)
		}
	}
}
