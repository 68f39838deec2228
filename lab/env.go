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
			s := observeMachine(time.Second)
			if cmd.Context().Err() != nil {
				return errInterrupted
			}
			show := s.print
			if asJSON {
				show = func(out io.Writer) error { return encodeJSON(out, s) }
			}
			if err := show(cmd.OutOrStdout()); err != nil {
				return err
			}
			return demand.refuseWarnings(p.Name, s.Warnings, true, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	demand.flags(cmd, "machine")
	return cmd
}

// A surrounding is everything the lab can find out about its machine. In JSON the fields of
// the environment are next to the others.
type surrounding struct {
	machine.Environment
	Topology machine.Topology  `json:"topology"`
	Overhead result.Overhead   `json:"overhead"`
	Servers  []server          `json:"servers"`
	Noise    machine.Noise     `json:"noise"` // in the preceding second
	Warnings []machine.Warning `json:"warnings"`
}

type server struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"` // the reason why it is unavailable; "" if it is available
}

func observeMachine(d time.Duration) surrounding {
	env := machine.Capture()
	s := surrounding{Environment: env, Topology: machine.ReadTopology(), Overhead: measure.Calibrate().Overhead()}
	w := machine.Watch()
	time.Sleep(d) // much longer than the kernel's ticks of 10 ms
	s.Noise = w.Stop()
	s.Warnings = append(env.Warnings(), machine.NoiseWarnings(s.Noise, false)...)
	for _, kind := range []string{harness.KindRedis, harness.KindZooKeeper} {
		v := server{Kind: kind}
		if err := backend.Available(kind); err != nil {
			v.Reason = err.Error()
		}
		s.Servers = append(s.Servers, v)
	}
	return s
}

func (s surrounding) print(out io.Writer) error {
	fmt.Fprintln(out, s.Environment)
	t := table.New(out)
	previous := ""
	row := func(heading, name, format string, args ...any) {
		shown := heading
		if heading == previous {
			shown = ""
		}
		previous = heading
		t.Row(shown, name, fmt.Sprintf(format, args...))
	}
	row("clock", "reads", "%s, %.6g MHz", s.Clock, s.ClockHz/1e6)
	row("atomics", "compare-and-swap", "%s", s.Atomics)
	for _, c := range s.Caches {
		row("caches", c.Name(), "%s", c.Detail())
	}
	if len(s.Caches) == 0 {
		row("caches", "", "unknown: the system does not report them")
	}
	s.printTopology(row)
	row("the lab", "acquisition of a local lock", "%.1f ns; %.1f ns more if it is kept in the owner log, %.0f ns more if it is timed", s.Overhead.Loop, s.Overhead.Log, s.Overhead.Timing)
	for _, v := range s.Servers {
		availability := "available"
		if v.Reason != "" {
			availability = "missing: " + v.Reason
		}
		row("servers", v.Kind, "%s", availability)
	}
	for _, c := range append(s.Environment.Checks(), machine.NoiseChecks([]machine.Noise{s.Noise})...) {
		mark := "ok"
		switch {
		case c.Bad:
			mark = "!"
		case c.Found == "":
			mark, c.Found = "?", "the system does not report it"
		}
		row("fitness", fmt.Sprintf("%-2s %s", mark, c.Name), "%s", c.Found)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(out, "warning (%s): %s\n  remedy: %s\n", w.Kind, w.Text, w.Remedy)
	}
	return nil
}

// printTopology prints the groups of nearby processors that the system reports.
func (s surrounding) printTopology(row func(heading, name, format string, args ...any)) {
	t := s.Topology
	row("CPUs", "order of workers", "%s", machine.ListCPUs(t.CPUs()))
	previous := len(t)
	for _, r := range []machine.Relation{machine.SMTSiblings, machine.SameCache, machine.SameNode, machine.SamePackage} {
		groups := t.Groups(r)
		if len(groups) == previous {
			continue // no CPU is nearer
		}
		previous = len(groups)
		lists := result.Each(groups, func(g []int) string { return machine.ListCPUs(slices.Sorted(slices.Values(g))) })
		row("CPUs", r.String(), "%s", strings.Join(lists, " | "))
	}
}
