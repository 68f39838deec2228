package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
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
	"locklab/internal/nearest"
)

// The exit statuses.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnfit       = 3
	exitInterrupted = 130
)

// These errors only select the exit status; their reason has been printed.
var (
	errInterrupted = errors.New("interrupted")
	errViolations  = errors.New("a lock broke a promise")
)

// Main is the main function of a program with the locks of p. It runs the command line and
// ends the process. In its child processes for measurements it measures one lock, so
// nothing may run before it.
func Main(p Program) {
	measure.Main(p.Locks)
	chaos.Main(p.Locks)
	redis.SetLogger(silent{})
	p.Name = cmp.Or(p.Name, strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"))
	if err := p.validate(); err != nil {
		os.Exit(p.status(err))
	}
	p.mainFile = mainFile()
	ctx := untilSignal(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(p.status(p.command().ExecuteContext(ctx)))
}

func mainFile() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function == "main.main" {
			return f.File
		}
		if !more {
			return ""
		}
	}
}

// silent discards the log of the Redis library, which also returns its messages as errors.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// untilSignal returns a context that ends with the first of the signals; a second one ends the
// process. signal.NotifyContext could lose an immediate second signal.
func untilSignal(signals ...os.Signal) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, signals...)
	go func() {
		<-first
		signal.Stop(first)
		cancel()
	}()
	return ctx
}

func (p *Program) status(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errViolations), errors.Is(err, errDisagree), errors.Is(err, errRegressed):
		return exitFailed
	case errors.Is(err, errUnfit), errors.Is(err, errDropped), errors.Is(err, errUnsure):
		return exitUnfit
	}
	if other := statusError(0); errors.As(err, &other) {
		return int(other)
	}
	text := result.OneLine(strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, harness.ErrUsage) || errors.As(err, new(notComparedError)) {
		fmt.Fprintln(os.Stderr, p.Name+": "+strings.ReplaceAll(text, harness.ErrUsage.Error()+": ", ""))
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, p.Name+": "+text)
	return exitFailed
}

func (p *Program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   p.Name,
		Short: "Which lock, at which contention, on this machine: what it costs, how fair it is, what breaks it",
		Long: p.Name + ` drives spin locks, blocking mutexes, and locks kept by ZooKeeper and
Redis with one harness, checks that each of them really is a lock, and draws
throughput, latency and fairness.`,
		Version:       p.version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := enterBuild(); err != nil {
				return err
			}
			return checkLimits(cmd)
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(p.listCommand(), p.runCommand(), p.mergeCommand(), p.reportCommand(), p.compareCommand(), p.historyCommand(), p.agreeCommand(), exportCommand(), p.hardwareCommand(), p.simulateCommand())
	if slices.ContainsFunc(p.Locks, func(v *harness.Variant) bool { return v.Remote != nil }) {
		root.AddCommand(p.chaosCommand(), p.traceCommand(), p.proxyCommand())
	}
	root.AddCommand(p.envCommand(), schemaCommand(), p.versionCommand(), manCommand())
	setHelp(root)
	p.completeNames(root)
	for _, c := range root.Commands() {
		c.Example = p.examples(c.Example)
	}
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" && f.NoOptDefVal == f.Value.String() && f.Value.Type() != "bool" {
			hint = fmt.Sprintf("; the value of --%s stands behind an equals sign: --%[1]s=%s", f.Name, args[0])
		}
	})
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	hint = cmp.Or(hint, nearest.Hint(args[0], names))
	return usage("unexpected %q%s; see '%s --help'", args[0], hint, cmd.CommandPath())
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{harness.ErrUsage}, args...)...)
}

func needs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage("%s, got %d arguments; see '%s --help'", what, len(args), cmd.CommandPath())
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
	return usage("%v%s; see '%s --help'", err, hint, cmd.CommandPath())
}
