package experiment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/harness"
)

var lostUpdates = &Experiment{
	Name:     "lost-updates",
	Question: "When two CPUs both pass the compare of a compare-and-swap before either stores, do both get the lock?",
	Method: "Two threads raise one counter, and then take one spin lock, by three bodies of compare-and-swap, on one CPU and on two. " +
		"Updates that were reported but are not in the counter are lost; so is an unlock if the lock is held after both threads left.",
	Source:    "Intel SDM vol. 3A, Locked Atomic Operations",
	Available: always,
	Run:       runLostUpdates,
}

// A casCell is what was seen of one body under one placement.
type casCell struct {
	place placement
	body  casBody

	updates, lost                     uint64 // of the counter, in all repeats
	entered, violated, forgot, stalls uint64 // of the lock, in all repeats

	lostRate, violatedRate, forgotRate, stallRate []float64 // per million, a figure for each repeat
}

func runLostUpdates(ctx context.Context, o Options) (*harness.Finding, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	var cells []*casCell
	places := placements()
	for _, p := range places {
		for _, b := range casBodies {
			cells = append(cells, &casCell{place: p, body: b})
		}
	}
	// Half a cell's time for the counter, half for the lock.
	span := o.share(2 * len(cells))
	done, err := repeat(ctx, o, func(int) error {
		for _, c := range cells {
			if err := c.measure(ctx, span); err != nil {
				return err
			}
		}
		return nil
	})
	if done == 0 {
		return nil, err
	}
	for _, c := range cells {
		c.keep(done)
	}
	f := &harness.Finding{Tables: lostTables(cells), Notes: ranOn(places...), Answer: lostAnswer(cells)}
	if len(places) == 1 && places[0].shared {
		f.Notes = append(f.Notes, "this process may use one CPU, so the question about two is open")
	}
	return f, err
}

// keep drops the figures of an interrupted repeat.
func (c *casCell) keep(repeats int) {
	for _, r := range []*[]float64{&c.lostRate, &c.violatedRate, &c.forgotRate, &c.stallRate} {
		*r = (*r)[:repeats]
	}
}

func (c *casCell) measure(ctx context.Context, span time.Duration) error {
	crew, err := newCrew(c.place.cpus[:]...)
	if err != nil {
		return err
	}
	defer crew.close()
	if err := c.measureCounter(ctx, crew, span); err != nil {
		return err
	}
	return c.measureLock(ctx, crew, span)
}

// On one CPU a step must outlast a slice of the scheduler, some milliseconds,
// or the threads never meet.
const (
	attemptsOneCPU  = 1 << 22
	attemptsTwoCPUs = 1 << 18
	entriesOneCPU   = 1 << 18
	entriesTwoCPUs  = 1 << 14
)

func (c *casCell) measureCounter(ctx context.Context, crew *crew, span time.Duration) error {
	attempts := uint64(attemptsTwoCPUs)
	if c.place.shared {
		attempts = attemptsOneCPU
	}
	var updates, lost uint64
	for start := time.Now(); time.Since(start) < span; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var g guarded // its counter is alone in a line
		var won [2]uint64
		crew.step(func(i int) { won[i] = c.body.add(&g.counter, attempts) })
		updates += won[0] + won[1]
		lost += won[0] + won[1] - g.counter
	}
	c.updates += updates
	c.lost += lost
	c.lostRate = append(c.lostRate, perMillion(lost, updates))
	return nil
}

// measureLock counts what goes wrong with the spin lock. A thread that finds it
// held for very long gives up the step. When both have left, the lock must be
// free: if it is not, an unlock was lost (a failing CMPXCHG writes the value it
// read back, over the unlock that came between) and all would wait for ever.
func (c *casCell) measureLock(ctx context.Context, crew *crew, span time.Duration) error {
	const patience, turns = 1 << 18, holdTurns
	limit := uint64(entriesTwoCPUs)
	if c.place.shared {
		limit = entriesOneCPU
	}
	var entered, violated, forgot, stalls uint64
	for start := time.Now(); time.Since(start) < span; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var g guarded
		var in, bad [2]uint64
		crew.step(func(i int) { in[i], bad[i] = c.body.lock(&g, uint64(i+1), limit, patience, turns) })
		entered += in[0] + in[1]
		violated += bad[0] + bad[1]
		forgot += in[0] + in[1] - g.counter
		stalls += g.word
	}
	c.entered += entered
	c.violated += violated
	c.forgot += forgot
	c.stalls += stalls
	c.violatedRate = append(c.violatedRate, perMillion(violated, entered))
	c.forgotRate = append(c.forgotRate, perMillion(forgot, entered))
	c.stallRate = append(c.stallRate, perMillion(stalls, entered))
	return nil
}

func perMillion(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole) * 1e6
}

func lostTables(cells []*casCell) []harness.Table {
	counter := harness.Table{Caption: "A counter that both threads raise", Label: "on",
		Columns: []harness.Column{{Name: "compare-and-swap"}, {Name: "updates"}, {Name: "lost", Unit: "per million"}}}
	spin := harness.Table{Caption: "A spin lock built on it", Label: "on",
		Columns: []harness.Column{{Name: "compare-and-swap"}, {Name: "entries"}, {Name: "two inside", Unit: "per million"},
			{Name: "lost increments", Unit: "per million"}, {Name: "lost unlocks", Unit: "per million"}}}
	for _, c := range cells {
		counter.Rows = append(counter.Rows, harness.Row{Label: c.place.name, Cells: []harness.Cell{{Text: c.body.name}, exact(float64(c.updates)), summarize(c.lostRate)}})
		spin.Rows = append(spin.Rows, harness.Row{Label: c.place.name, Cells: []harness.Cell{{Text: c.body.name}, exact(float64(c.entered)),
			summarize(c.violatedRate), summarize(c.forgotRate), summarize(c.stallRate)}})
	}
	return []harness.Table{counter, spin}
}

// lostAnswer says for each body what was lost, most CPUs first.
func lostAnswer(cells []*casCell) string {
	var parts []string
	for i := len(casBodies); i <= len(cells); i += len(casBodies) {
		row := cells[len(cells)-i:][:len(casBodies)]
		var said []string
		for _, c := range row {
			said = append(said, c.sentence())
		}
		parts = append(parts, "on "+row[0].place.name+" "+strings.Join(said, ", "))
	}
	s := strings.Join(parts, "; ") + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

func (c *casCell) sentence() string {
	broken := c.violated + c.forgot + c.stalls
	switch {
	case c.lost == 0 && broken == 0:
		return fmt.Sprintf("%s lost none of %s updates and kept its lock exclusive", c.body.name, number(float64(c.updates)))
	case broken == 0:
		return fmt.Sprintf("%s lost %s updates per million, and its lock was not seen to fail", c.body.name, number(perMillion(c.lost, c.updates)))
	}
	return fmt.Sprintf("%s lost %s updates per million and its lock failed", c.body.name, number(perMillion(c.lost, c.updates)))
}
