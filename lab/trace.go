package lab

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/trace"
)

func (p *Program) traceCommand() *cobra.Command {
	var clients int
	var hold time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trace LOCK",
		Short: "Trace the messages of a distributed lock",
		Long: `trace lets clients A, B … request one lock of a real server, one after the other, and then
release it in turn. It prints every message between the clients and the server. For a lock of
ZooKeeper it also shows the nodes below the lock's, their creators and watchers, after each
change. The messages pass a proxy that adds some hundredths of a millisecond: the times show
the order, not the speed of the lock.`,
		Example: `  locklab trace zk-fair
  locklab trace zk-herd --clients 4 --hold 10ms
  locklab trace redis-poll --json`,
		Args: needs(1, 1, "trace needs one lock, such as zk-fair"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := p.trace(cmd.Context(), args[0], clients, hold)
			switch {
			case cmd.Context().Err() != nil:
				return errInterrupted
			case err != nil:
				return err
			case asJSON:
				return encodeJSON(cmd.OutOrStdout(), t)
			}
			return t.Write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().Var(count(&clients, 2, 1, 26), "clients", "number of clients, at most 26: A to Z")
	cmd.Flags().Var(span(&hold, 0, 0, time.Minute), "hold", "time that each client holds the lock")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *Program) trace(ctx context.Context, name string, clients int, hold time.Duration) (*trace.Trace, error) {
	locks, err := p.choose([]string{name})
	if err != nil {
		return nil, err
	}
	v := locks[0]
	switch {
	case len(locks) > 1:
		return nil, usage("%q matches %d locks: trace needs one", name, len(locks))
	case v.Remote == nil:
		return nil, usage("%s is local and sends no messages: trace needs a distributed lock ('%s list remote')", v.Name, p.Name)
	case v.Unavailable != "":
		return nil, usage("%s: %s", v.Name, v.Unavailable)
	case v.Traits.Servers > 1:
		return nil, usage("%s uses %d servers: trace needs a lock on one", v.Name, v.Traits.Servers)
	}
	srv, err := backend.Start(ctx, v.Traits.Needs)
	if errors.Is(err, harness.ErrUnavailable) {
		return nil, usage("%s needs a server: %v", v.Name, err)
	}
	if err != nil {
		return nil, err
	}
	defer srv.Stop() // a server that cannot be stopped dies with this process
	at := srv.Endpoint()
	if at.TLS != nil {
		return nil, usage("trace cannot read TLS: give it a server without TLS")
	}
	t, err := trace.Record(ctx, v, at, clients, hold)
	if err != nil {
		return nil, err
	}
	t.Server = at.Kind + " " + srv.Version()
	return t, nil
}
