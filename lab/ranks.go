package lab

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/site"
)

// A setting is common to all ranks: rank 0 decides it.
type setting struct {
	Plan  result.Manifest // as far as a run is planned again by it
	Cases string          // a hash of them
	RunID string
	Trips map[string]*result.Trips
}

func (o *runOptions) setting(p *measure.Plan, skipped []result.Skip) setting {
	return setting{
		Plan:  result.Manifest{Command: o.commandLine(), Flags: o.chosen, Seed: o.seed, Rounds: p.Rounds, Window: o.baseOf(p), Skipped: skipped},
		Cases: casesOf(p), RunID: p.RunID, Trips: p.Trips,
	}
}

func (o *runOptions) runRank(ctx context.Context, flags *pflag.FlagSet, stderr io.Writer) (err error) {
	self := measure.Rank{Commit: machine.BuildCommit(), Binary: machine.BinaryHash(), Schema: result.Schema}
	late := time.AfterFunc(15*time.Second, func() {
		fmt.Fprintf(stderr, "rank %d of %d: waiting for the others\n", o.Rank, o.Ranks)
	})
	group, err := measure.JoinRanks(ctx, o.RankOptions, self)
	late.Stop()
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	defer func() {
		why := "" // also if another rank is gone, which Leave passes on
		if err != nil && !o.measured && !errors.As(context.Cause(group.Context()), new(*measure.LostRankError)) {
			why = result.OneLine(err.Error())
		}
		if lerr := group.Leave(context.WithoutCancel(ctx), why); err == nil {
			err = lerr
		}
	}()
	o.host = group.Members()[o.Rank].Host
	return o.measurePart(ctx, flags, group, stderr)
}

func (o *runOptions) measurePart(ctx context.Context, flags *pflag.FlagSet, group *measure.Ranks, stderr io.Writer) error {
	together := group.Context()
	plan, servers, skipped, err := o.agree(together, flags, group, stderr)
	defer servers.Stop()
	if err != nil {
		return o.ended(ctx, together, err, stderr)
	}
	plan.Together = group
	dir, out, _, err := o.open(plan, servers, skipped)
	if err != nil {
		return err
	}
	progress := stderr
	if o.Rank > 0 {
		progress = io.Discard
	}
	m := o.measuring(plan, out, progress)
	err = m.run(together, nil)
	if err == nil && together.Err() != nil {
		err = context.Cause(together)
	}
	o.measured = err == nil
	m.stderr = stderr
	ferr := m.close(err != nil)
	fmt.Fprintf(stderr, "rank %d of %d: %d of %d measurements are in %s\n", o.Rank, o.Ranks, m.done, m.total, dir)
	switch {
	case err != nil:
		return o.ended(ctx, together, err, stderr)
	case ferr != nil:
		return ferr
	}
	return m.outcome()
}

// ended returns what it means for the exit status that err ended this rank, of which
// together is the context and ctx the one of the process.
func (o *runOptions) ended(ctx, together context.Context, err error, stderr io.Writer) error {
	var lost *measure.LostRankError
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &lost), errors.As(context.Cause(together), &lost) && !errors.Is(err, harness.ErrUsage):
		fmt.Fprintf(stderr, "%s: rank %d stops: %s\n", o.program.Name, o.Rank, result.OneLine(lost.Error()))
		return errUnfit
	}
	return err
}

// agree returns the plan of rank 0.
func (o *runOptions) agree(ctx context.Context, flags *pflag.FlagSet, group *measure.Ranks, stderr io.Writer) (*measure.Plan, *site.Servers, []result.Skip, error) {
	if o.Rank == 0 {
		plan, s, skipped, err := o.ready(ctx, flags, stderr)
		if err != nil {
			return nil, s, nil, err
		}
		plan.Budget, plan.Least, plan.Most = 0, 0, 0 // the others do not plan again by its clock
		text, err := json.Marshal(o.setting(plan, skipped))
		if err == nil {
			_, err = group.Share(ctx, "setting", text)
		}
		return plan, s, skipped, err
	}
	var set setting
	text, err := group.Share(ctx, "setting", nil)
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	plan, err := o.follow(flags, set)
	if err == nil {
		err = sharedServers(plan)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	s, skipped, err := site.Start(ctx, plan, 0, stderr) // they are the user's
	if err == nil && casesOf(plan) != set.Cases {
		err = usage("rank %d has other cases than rank 0: its flags, or the servers that it reaches, differ", o.Rank)
	}
	return plan, s, skipped, err
}

// follow returns the plan in s, with the flags that it was made with.
func (o *runOptions) follow(flags *pflag.FlagSet, s setting) (*measure.Plan, error) {
	err := setFlags(flags, s.Plan.Flags, func(name, was, is string) error {
		return usage("rank 0 has --%s %q, this one %q: give all ranks the same flags", name, was, is)
	})
	if err != nil {
		return nil, err
	}
	o.seed, o.chosen, o.command = s.Plan.Seed, s.Plan.Flags, s.Plan.Command
	plan, err := o.planAgain(s.Plan)
	if err != nil {
		return nil, err
	}
	plan.RunID, plan.Trips = s.RunID, s.Trips
	return plan, nil
}

func sharedServers(p *measure.Plan) error {
	missing := result.Each(filter(p.Needs(), func(kind string) bool { return backend.UsersServer(kind) == "" }), variable)
	if missing == nil {
		return nil
	}
	return usage("ranks that are started one by one share servers of yours: set %s to host:port for each rank; or --spawn starts ranks and servers on this machine", numfmt.List(missing, len(missing)))
}

func variable(kind string) string {
	for _, k := range backend.Kinds {
		if k.Name == kind {
			return k.Env
		}
	}
	return kind
}

// casesOf returns a hash that is the same for all ranks.
func casesOf(p *measure.Plan) string {
	h := sha256.New()
	for _, c := range p.Cases {
		fmt.Fprintln(h, c.Name(), c.Workload.Window, c.Workload.Warmup)
	}
	fmt.Fprintln(h, p.Rounds, p.Every.Open, p.Seed)
	return fmt.Sprintf("%x", h.Sum(nil))
}
