package lab

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/result"
	"locklab/internal/nearest"
	"locklab/internal/table"
	"locklab/reports/page"
)

func (p *Program) chaosListCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "list [SCENARIO ...]",
		Short: "List the scenarios and the expected results",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			ss, err := p.scenarios(words)
			if err != nil {
				return err
			}
			return p.listScenarios(cmd.OutOrStdout(), ss, verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show the family, the fault, its source, and the expected results with their reasons")
	return cmd
}

func (p *Program) scenarios(words []string) ([]*chaos.Scenario, error) {
	if len(words) == 0 {
		return chaos.Suite, nil
	}
	picked := make(map[*chaos.Scenario]bool)
	for _, word := range words {
		re, err := regexp.Compile("^(?:" + word + ")$")
		if err != nil {
			return nil, usage("--scenario %s: %v", word, err)
		}
		found := filter(chaos.Suite, func(s *chaos.Scenario) bool { return re.MatchString(s.Name) })
		for _, s := range found {
			picked[s] = true
		}
		if len(found) == 0 {
			return nil, usage("no scenario is called %q; '%s chaos list' shows them%s", word, p.Name, nearest.Hint(word, scenarioNames()))
		}
	}
	return filter(chaos.Suite, func(s *chaos.Scenario) bool { return picked[s] }), nil
}

func scenarioNames() []string {
	return result.Each(chaos.Suite, func(s *chaos.Scenario) string { return s.Name })
}

func (p *Program) listScenarios(out io.Writer, ss []*chaos.Scenario, verbose bool) error {
	if verbose {
		for _, s := range ss {
			p.describeScenario(out, s)
		}
		return nil
	}
	t := table.New(out, "SCENARIO", "LOCKS", "TRIES", "TESTS", "QUESTION")
	for _, s := range ss {
		t.Row(s.Name, len(subjects(p.Locks, s)), s.Tries, guarantees(s.Tests), s.Question)
	}
	return t.Flush()
}

func guarantees(gs []result.Guarantee) string {
	return cmp.Or(strings.Join(result.Each(gs, func(g result.Guarantee) string { return string(g) }), ", "), "-")
}

func subjects(locks []*harness.Variant, s *chaos.Scenario) []*harness.Variant {
	return filter(locks, func(v *harness.Variant) bool { return v.Remote != nil && s.Applies(result.Describe(v)) })
}

func (p *Program) describeScenario(out io.Writer, s *chaos.Scenario) {
	fmt.Fprintf(out, "%s: %s\n  family: %s\n  fault: %s\n  source: %s\n  tests: %s\n", s.Name, s.Question, s.Family, s.Fault, s.Source, guarantees(s.Tests))
	names := make(map[string][]string) // by expectation
	var order []string
	for _, v := range subjects(p.Locks, s) {
		e := s.Expected(v.Name)
		text := "nothing is known"
		if e.Why != "" {
			text = page.Anomalies(e.Anomalies) + ": " + e.Why
		}
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], v.Name)
	}
	for _, text := range order {
		fmt.Fprintf(out, "  %s\n    %s\n", text, strings.Join(names[text], " "))
	}
	fmt.Fprintln(out)
}
