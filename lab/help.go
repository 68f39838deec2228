package lab

import (
	"cmp"
	"fmt"
	"io"
	"locklab/internal/machine"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// rare marks the flags that 'help COMMAND' shows and '--help' does not.
const rare = "rare"

func hideRare(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if cmd.Flags().SetAnnotation(name, rare, nil) != nil {
			panic("lab: no flag " + name)
		}
	}
}

// setHelp limits --help of root and its commands to one screen; 'help COMMAND' prints
// everything.
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

// printHelp writes the help of cmd on one screen: its purpose, usage, commands, flags and
// examples.
func printHelp(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, "%s.\n\nUsage: %s\n", cmd.Short, cmd.UseLine())
	printCommands(out, cmd)
	hidden := printFlags(out, cmd)
	switch {
	case hidden > 0:
		fmt.Fprintf(out, "\nAll flags, and how it works: %s help%s\n", cmd.Root().Name(), strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
	case cmd.Long != "" && cmd.HasParent():
		fmt.Fprintf(out, "\nHow it works: %s help%s\n", cmd.Root().Name(), strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
	}
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
}

func printCommands(out io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(out, "\nCommands:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			fmt.Fprintf(w, "  %s\t%s\n", c.Name(), c.Short)
		}
	}
	w.Flush()
}

// printFlags writes a line for each flag of cmd that is not rare, and returns the number of
// rare ones.
func printFlags(out io.Writer, cmd *cobra.Command) (hidden int) {
	fmt.Fprintln(out, "\nFlags:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, is := f.Annotations[rare]; is || f.Hidden {
			hidden++
			return
		}
		short := "   "
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ","
		}
		kind, text := pflag.UnquoteUsage(f)
		fmt.Fprintf(w, "  %s --%s\t%s\n", short, strings.TrimSpace(f.Name+" "+kind), gist(text))
	})
	w.Flush()
	return hidden
}

// gist returns the first part of the explanation of a flag.
func gist(text string) string {
	end := len(text)
	for _, stop := range []string{"; ", ": ", " (", ", such as "} {
		if i := strings.Index(text, stop); i > 0 {
			end = min(end, i)
		}
	}
	return cmp.Or(text[:end], text)
}

// completeWith makes the shell complete the values of a flag of cmd, also after a comma or
// a '-'.
func completeWith(cmd *cobra.Command, flag string, words func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		last := strings.LastIndexAny(typed, ",|") + 1
		if strings.HasPrefix(typed[last:], "-") {
			last++
		}
		for _, word := range words() {
			out = append(out, typed[:last]+word)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // there is no such flag
	}
}

func (p *Program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), p.Name, p.version())
			return err
		},
	}
}

func (p *Program) version() string {
	return fmt.Sprintf("%s (commit %s, %s %s/%s)", cmp.Or(p.Version, "0.0.0"), cmp.Or(machine.BuildCommit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a manual page for each command",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "locklab"}, args[0])
		},
	}
}

// completeNames makes the shell complete the names of locks, scenarios and metrics.
func (p *Program) completeNames(root *cobra.Command) {
	words := map[string]func() []string{"locks": p.words, "baseline": p.words, "scenario": scenarioNames, "metric": metricNames}
	for _, cmd := range root.Commands() {
		for flag, of := range words {
			if cmd.Flags().Lookup(flag) != nil {
				completeWith(cmd, flag, of)
			}
		}
	}
}
