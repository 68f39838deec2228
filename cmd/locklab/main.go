package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/catalog"
	"locklab/internal/machine"
)

// The exit statuses.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnfit       = 3
	exitInterrupted = 130
)

// Errors that only choose the exit status: what they say has been said.
var (
	errInterrupted = errors.New("interrupted")
	errViolations  = errors.New("a lock broke a promise")
)

func main() {
	runner.Main(catalog.All())
	ctx := untilSignal(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(status(command().ExecuteContext(ctx)))
}

// untilSignal returns a context that ends with the first of the signals. When it
// ends, a second signal ends the process as it stands: signal.NotifyContext ends
// its context first and would lose a second signal that comes at once.
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

// status prints what is left to say of err, in one line, and returns the exit
// status.
func status(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errViolations):
		return exitFailed
	case errors.Is(err, errUnfit):
		return exitUnfit
	case errors.Is(err, errRegressed):
		return exitRegressed
	case errors.Is(err, errUnsure):
		return exitUnsure
	}
	text := resultfile.Line(strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, harness.ErrUsage) || errors.As(err, new(notComparedError)) {
		fmt.Fprintln(os.Stderr, "locklab: "+strings.ReplaceAll(text, harness.ErrUsage.Error()+": ", ""))
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, "locklab: "+text)
	return exitFailed
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "locklab",
		Short: "Which lock, at which contention, on this machine: what it costs, how fair it is, what breaks it",
		Long: `locklab drives spin locks, blocking mutexes, and locks kept by ZooKeeper and
Redis with one harness, checks that each of them really is a lock, and draws
throughput, latency and fairness.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return checkLimits(cmd) },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: %v; see '%s --help'", harness.ErrUsage, err, cmd.CommandPath())
	})
	root.AddCommand(listCommand(), runCommand(), reportCommand(), compareCommand(), exportCommand(), hardwareCommand(), traceCommand(), envCommand(), schemaCommand())
	return root
}

func version() string {
	if c := machine.BuildCommit(); c != "" {
		return c
	}
	return "unknown"
}

// noArgs refuses arguments, which cobra would take for a mistyped command.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%w: unexpected %q; see '%s --help'", harness.ErrUsage, args[0], cmd.CommandPath())
}
