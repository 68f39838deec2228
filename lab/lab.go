package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/harness/simulate"
	"locklab/internal/nearest"
	"locklab/internal/numfmt"
)

// The exit statuses.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnfit       = 3
	exitInterrupted = 130
)

// A statusError selects the exit status; its reason has been printed.
type statusError struct {
	status int
	reason string
}

func (e statusError) Error() string { return e.reason }

var (
	errInterrupted = statusError{exitInterrupted, "interrupted"}
	errViolations  = statusError{exitFailed, "a lock broke a promise"}
	errDisagree    = statusError{exitFailed, "the runs do not agree"}
	errRegressed   = statusError{exitFailed, "a case regressed"}
	errUnsure      = statusError{exitUnfit, "not significant"}
	errUnfit       = statusError{exitUnfit, "the machine is not, or was not, fit to measure on"}
	errDropped     = statusError{exitUnfit, "a case was not merged"}
)

// Main is the main function of a program with the locks of p. It runs the command line and
// ends the process. In its child processes for measurements it measures one lock, so
// nothing may run before it.
func Main(p Program) {
	measure.Main(p.Locks)
	chaos.Main(p.Locks)
	redis.SetLogger(silent{})
	p.Name = cmp.Or(p.Name, strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"))
	ctx := untilSignal(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(p.execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit status.
func (p *Program) execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := p.validate()
	if err == nil {
		out := &output{Writer: stdout}
		root := p.command(out)
		root.SetArgs(args)
		root.SetErr(stderr)
		err = root.ExecuteContext(ctx)
		if !errors.As(err, new(statusError)) && out.failed != nil {
			err = usage("cannot write the output: %v", out.failed)
		}
	}
	return p.status(err, stderr)
}

// An output is the standard output of a command. It keeps the first error, so that printing
// code need not return it.
type output struct {
	io.Writer
	failed error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	o.failed = cmp.Or(o.failed, err)
	return n, err
}

// silent discards the log of the Redis library, which also returns its messages as errors.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// untilSignal returns a context that ends with the first of the signals; a second one ends the
// process. signal.NotifyContext could lose an immediate second signal. Under nohup SIGHUP
// stays ignored.
func untilSignal(signals ...os.Signal) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, slices.DeleteFunc(signals, func(s os.Signal) bool { return s == syscall.SIGHUP && signal.Ignored(s) })...)
	go func() {
		<-first
		signal.Stop(first)
		cancel()
	}()
	return ctx
}

func (p *Program) status(err error, stderr io.Writer) int {
	if printed, ok := errors.AsType[statusError](err); ok || err == nil {
		return printed.status
	}
	text := result.OneLine(strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, harness.ErrUsage) {
		fmt.Fprintln(stderr, p.Name+": "+strings.ReplaceAll(text, harness.ErrUsage.Error()+": ", ""))
		return exitUsage
	}
	fmt.Fprintln(stderr, p.Name+": "+text)
	return exitFailed
}

func (p *Program) command(stdout io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   p.Name,
		Short: "Measure locks on this machine: how fast and fair they are, and what breaks them",
		Long: p.Name + ` measures spin locks, mutexes, and distributed locks on ZooKeeper and
Redis in one harness, checks that each lock is correct, and draws throughput,
latency and fairness.`,
		Version:       p.version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if simulate.Simulates && cmd.Name() != "simulate" {
				return usage("this build only simulates: build it without the tags %s", simulateTags)
			}
			return nil
		},
	}
	root.SetOut(stdout)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(p.listCommand(), p.runCommand(), p.mergeCommand(), p.reportCommand(), p.compareCommand(), p.historyCommand(), p.agreeCommand(), exportCommand(), p.hardwareCommand(), p.simulateCommand())
	if slices.ContainsFunc(p.Locks, func(v *harness.Variant) bool { return v.Remote != nil }) {
		root.AddCommand(p.chaosCommand(), p.traceCommand(), p.proxyCommand())
	}
	root.AddCommand(p.envCommand(), schemaCommand(), versionCommand(), manCommand())
	setHelp(root)
	addCompletion(root)
	p.complete(root)
	return root
}

// complete sets the common properties of cmd and the commands below it.
func (p *Program) complete(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Example = p.examples(cmd.Example)
	p.completeNames(cmd)
	if cmd.Args == nil && cmd.Name() != "help" {
		cmd.Args = noArgs
	}
	for _, c := range cmd.Commands() {
		p.complete(c)
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" && f.NoOptDefVal == f.Value.String() && f.Value.Type() != "bool" {
			hint = fmt.Sprintf("; give the value of --%s after an equals sign: --%[1]s=%s", f.Name, args[0])
		}
	})
	names := result.Each(cmd.Commands(), (*cobra.Command).Name)
	hint = cmp.Or(hint, nearest.Hint(args[0], names))
	return usage("unexpected %q%s; see '%s --help'", args[0], hint, cmd.CommandPath())
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{harness.ErrUsage}, args...)...)
}

func needs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage("%s, got %s; see '%s --help'", what, numfmt.Plural(len(args), "argument"), cmd.CommandPath())
		}
		return nil
	}
}

func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		hint = nearest.Hint("--"+unknown.GetSpecifiedName(), names)
	}
	if bad := new(pflag.InvalidValueError); errors.As(err, &bad) && bad.GetFlag().Value.Type() == "bool" {
		err = fmt.Errorf("--%s is true or false, not %q", bad.GetFlag().Name, bad.GetValue())
	}
	return usage("%v%s; see '%s --help'", err, hint, cmd.CommandPath())
}
