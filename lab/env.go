package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/machine"
	"locklab/internal/table"
)

func (p *Program) envCommand() *cobra.Command {
	var asJSON bool
	var demand strictness
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Show this machine, its lock servers, and possible disturbances of a measurement",
		Long: `env shows the processors of this machine, their frequency, the clock and the limits of the
container, and watches for a second what else runs. Each warning has its remedy. With
--strict any warning that --accept does not name makes the exit status 3.`,
		Example: `  locklab env
  locklab env --strict --accept guest,clock-step && locklab run`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := demand.validate(machine.WarningKinds()); err != nil {
				return err
			}
			s := lookAround(listening)
			show := s.print
			if asJSON {
				show = func(out io.Writer) error { return encodeJSON(out, s) }
			}
			if err := show(cmd.OutOrStdout()); err != nil {
				return err
			}
			return demand.judge(p.Name, s.Warnings, true, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	demand.flags(cmd, "when all is printed", "machine")
	return cmd
}

// A surrounding is everything the lab can find out about its machine. In JSON the fields of
// the environment are next to the others.
type surrounding struct {
	machine.Environment
	Topology machine.Topology  `json:"topology"`
	Overhead result.Overhead   `json:"overhead"`
	Servers  []server          `json:"servers"`
	Noise    harness.Noise     `json:"noise"` // in the preceding second
	Warnings []harness.Warning `json:"warnings"`
}

type server struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"` // the reason why it is unavailable; "" if it is available
}

func lookAround(d time.Duration) surrounding {
	env := machine.Capture()
	s := surrounding{Environment: env, Topology: machine.ReadTopology(), Overhead: measure.Calibrate().Overhead(), Noise: listen(d)}
	s.Warnings = append(env.Warnings(), machine.NoiseWarnings(s.Noise)...)
	for _, kind := range []string{harness.KindRedis, harness.KindZooKeeper} {
		v := server{Kind: kind}
		if err := backend.Available(kind); err != nil {
			v.Reason = err.Error()
		}
		s.Servers = append(s.Servers, v)
	}
	return s
}

type fact struct{ heading, name, value string }

func (s surrounding) print(out io.Writer) error {
	fmt.Fprintln(out, s.Environment)
	t := table.New(out)
	heading := ""
	for _, f := range s.facts() {
		if f.heading == heading {
			f.heading = ""
		} else {
			heading = f.heading
		}
		t.Row(f.heading, f.name, f.value)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(out, "warning (%s): %s\n  remedy: %s\n", w.Kind, w.Text, w.Remedy)
	}
	return nil
}

func (s surrounding) facts() []fact {
	facts := []fact{{"clock", "reads", fmt.Sprintf("%s, %.6g MHz", s.Clock, s.ClockHz/1e6)}, {"atomics", "compare-and-swap", s.Atomics}}
	for _, c := range s.Caches {
		facts = append(facts, fact{"caches", c.Name(), c.Detail()})
	}
	if len(s.Caches) == 0 {
		facts = append(facts, fact{"caches", "", "not known: the system does not tell"})
	}
	facts = append(facts, topologyFacts(s.Topology)...)
	facts = append(facts, fact{"the lab", "acquisition of a local lock", fmt.Sprintf("%.1f ns; %.1f ns more if it is kept in the owner log, %.0f ns more if it is timed",
		s.Overhead.Loop, s.Overhead.Log, s.Overhead.Timing)})
	facts = append(facts, fact{"the lab", "acquisition called directly", fmt.Sprintf("%.1f ns; %.1f ns through sync.Locker, as measured ones are called",
		s.Overhead.Direct, s.Overhead.Locker)})
	for _, v := range s.Servers {
		facts = append(facts, fact{"servers", v.Kind, availability(v.Reason)})
	}
	return append(facts, s.checkFacts()...)
}

func (s surrounding) checkFacts() (facts []fact) {
	for _, c := range append(s.Environment.Checks(), machine.NoiseChecks([]harness.Noise{s.Noise})...) {
		mark, found := "ok", c.Found
		switch {
		case c.Bad:
			mark = "!"
		case found == "":
			mark, found = "?", "the system does not tell"
		}
		facts = append(facts, fact{"fitness", fmt.Sprintf("%-2s %s", mark, c.Name), found})
	}
	return facts
}

func availability(reason string) string {
	if reason == "" {
		return "available"
	}
	return "missing: " + reason
}

// topologyFacts lists the groups of nearby processors that the system reports.
func topologyFacts(t machine.Topology) []fact {
	facts := []fact{{"CPUs", "order of workers", machine.ListCPUs(t.CPUs())}}
	previous := len(t)
	for _, r := range []machine.Relation{machine.SMTSiblings, machine.SameCache, machine.SameNode, machine.SamePackage} {
		groups := t.Groups(r)
		if len(groups) == previous {
			continue // no CPU is nearer
		}
		previous = len(groups)
		lists := each(groups, func(g []int) string { return machine.ListCPUs(slices.Sorted(slices.Values(g))) })
		facts = append(facts, fact{"CPUs", r.String(), strings.Join(lists, " | ")})
	}
	return facts
}
