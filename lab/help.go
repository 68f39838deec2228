package lab

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"locklab/harness/result"
	"locklab/harness/simulate"
	"locklab/internal/machine"
	"locklab/reports/draw"
	"locklab/reports/page"
)

// A flagGroup is the flags of one purpose. --help shows flags; 'help COMMAND' also shows rare.
type flagGroup struct{ name, flags, rare string }

// flagGroups returns the groups of --help; each flag of a command with many is in one.
func flagGroups() []flagGroup {
	return []flagGroup{
		{"Workload", workloadFlags, rareWorkloadFlags},
		{"Servers", serverFlags, ""},
		{"Model", "machine lines place list", ""},
		{"Contents", "scenario hardware chaos rtt contenders", ""},
		{"Time", "quick rounds duration budget repeats tries short seeds seed", "warmup"},
		{"Hosts", "ranks spawn sync any-host", "rank job assemble"},
		{"Verdict", "to interleave as-given metric alpha tolerance require least strict", "baseline accept"},
		{"Output", "out resume replace into all format json png help", ""},
	}
}

const (
	workloadFlags     = "locks workers clients hold section read rate"
	rareWorkloadFlags = "think wait pin gomaxprocs spread gc arrivals deadline"
	serverFlags       = "servers durable tls delay"
	fewFlags          = 6
)

func flagsOf(cmd *cobra.Command, names string) (found []*pflag.Flag) {
	for name := range strings.FieldsSeq(names) {
		if f := cmd.Flags().Lookup(name); f != nil {
			found = append(found, f)
		}
	}
	return found
}

// setHelp limits --help to one screen; 'help COMMAND' prints everything.
func setHelp(root *cobra.Command) {
	full := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd.OutOrStdout(), cmd) })
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "Explain a command and all its flags",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noArgs(found, rest)
			}
			found.InitDefaultHelpFlag()
			full(found, args)
			return nil
		},
	})
}

func printHelp(out io.Writer, cmd *cobra.Command) {
	printColumns(out, "", strings.ReplaceAll(cmd.Short+".", "?.", "?"))
	fmt.Fprintf(out, "\nUsage: %s\n", cmd.UseLine())
	printCommands(out, cmd)
	hidden := printFlags(out, cmd)
	if about := "How it works"; hidden > 0 || cmd.Long != "" && cmd.HasParent() {
		if hidden > 0 {
			about = "All flags, and how it works"
		}
		root := cmd.Root().Name()
		fmt.Fprintf(out, "\n%s: %s help%s\n", about, root, strings.TrimPrefix(cmd.CommandPath(), root))
	}
	if cmd.HasExample() {
		printExamples(out, cmd)
	}
}

func printCommands(out io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(out, "\nCommands:")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			printColumns(out, fmt.Sprintf("  %-14s ", c.Name()), c.Short)
		}
	}
}

// printFlags writes the flags of cmd by group and returns the number of rare ones.
func printFlags(out io.Writer, cmd *cobra.Command) (hidden int) {
	var all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f.Name)
		}
	})
	groups := flagGroups()
	if len(all) <= fewFlags {
		groups = []flagGroup{{"Flags", strings.Join(all, " "), ""}}
	}
	fmt.Fprintln(out)
	for _, g := range groups {
		hidden += len(flagsOf(cmd, g.rare))
		flags := flagsOf(cmd, g.flags)
		if len(flags) > 0 {
			fmt.Fprintln(out, g.name+":")
		}
		for _, f := range flags {
			short := "   "
			if f.Shorthand != "" {
				short = "-" + f.Shorthand + ","
			}
			kind, text := pflag.UnquoteUsage(f)
			printColumns(out, fmt.Sprintf("  %s --%-19s ", short, f.Name+" "+kind), gist(text))
		}
	}
	return hidden
}

func printColumns(out io.Writer, name, text string) {
	lines := draw.Wrap(text, func(line string) bool { return len(name)+utf8.RuneCountInString(line) <= helpWidth })
	fmt.Fprintln(out, name+strings.Join(lines, "\n"+strings.Repeat(" ", len(name))))
}

// The limits of --help, for a terminal.
const (
	helpWidth    = 100
	mostExamples = 6
)

func printExamples(out io.Writer, cmd *cobra.Command) {
	lines := slices.DeleteFunc(strings.Split(cmd.Example, "\n"), func(line string) bool { return len(line) > helpWidth })
	fmt.Fprintf(out, "\nExamples:\n%s\n", strings.Join(lines[:min(len(lines), mostExamples)], "\n"))
}

var clauseRE = regexp.MustCompile(`; |: | \(|, such as `)

func gist(text string) string { return clauseRE.Split(text, 2)[0] }

func (p *Program) version() string {
	return fmt.Sprintf("%s (commit %s, %s %s/%s)", cmp.Or(p.Version, "0.0.0"), cmp.Or(machine.BuildCommit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit, as --version does",
		Run: func(cmd *cobra.Command, _ []string) {
			cmd.Printf("%s version %s\n", cmd.Root().Name(), cmd.Root().Version)
		},
	}
}

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a manual page for each command",
		Example: "  locklab man build/man",
		Args:    needs(1, 1, "man needs the directory to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usage("cannot write %s: %v", args[0], err)
			}
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "locklab"}, args[0])
		},
	}
}

// addCompletion adds cobra's commands, which print to the output that root has now. They
// refuse arguments as all others do.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	shells, _, _ := root.Find([]string{"completion"})
	shells.RunE, shells.Example = root.RunE, "  locklab completion bash > locklab.bash"
	for _, cmd := range append(shells.Commands(), shells) {
		cmd.Args = noArgs
	}
}

// names returns the known values of flags, and of the arguments of commands.
func (p *Program) names() map[string]func() []string {
	return map[string]func() []string{
		"trace": p.words, "list": p.words, "chaos list": scenarioNames,
		"--locks": p.words, "--baseline": p.words, "compare --to": p.words, "history --to": p.words,
		"--scenario": scenarioNames, "--metric": metricNames, "--require": guaranteeNames,
		"export --format": func() []string { return result.Each(result.Exports, func(e *result.Export) string { return e.Name }) },
		"report --format": func() []string { return []string{"json"} }, "compare --format": func() []string { return page.ChangesFormats },
		"--machine": func() []string {
			return result.Each(simulate.List(), func(m *simulate.Machine) string { return m.Name })
		},
		"--accept": machine.WarningKinds, "--place": func() []string { return slices.Collect(maps.Keys(places)) },
	}
}

// completeNames completes values of flags and arguments with names, also after a comma or a '-'.
func (p *Program) completeNames(cmd *cobra.Command) {
	names, path := p.names(), strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	complete := func(words func() []string) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			last := strings.LastIndexAny(typed, ",|") + 1
			if strings.HasPrefix(typed[last:], "-") {
				last++
			}
			return result.Each(words(), func(word string) string { return typed[:last] + word }), cobra.ShellCompDirectiveNoFileComp
		}
	}
	if words := names[path]; words != nil {
		cmd.ValidArgsFunction = complete(words)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		words := names["--"+f.Name]
		if own := names[path+" --"+f.Name]; own != nil {
			words = own
		}
		if words != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete(words))
		}
	})
}
