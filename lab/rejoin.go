package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"

	"locklab/harness"
	"locklab/harness/ranks"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// All ranks of a run go on with it together. Each has its part on disk, and rounds that
// are done are those that each has kept: a rank that was killed lacks some that others have.

// A memory is what a rank says of the run in its directory when all begin.
type memory struct {
	Resume  bool                 // whether it was told to go on
	Refused string               // why it cannot, one line; "" if it can
	Run     *resultfile.Manifest // as far as a run is planned again by it; nil if there is none
}

// remember finds out whether all ranks go on with a run, and with which: o.earlier.
func (o *runOptions) remember(ctx context.Context, group *ranks.Group) error {
	own := memory{Resume: o.resume}
	if o.resume {
		var err error
		if own.Run, err = o.part(); err != nil {
			own.Refused = resultfile.Line(err.Error())
		}
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	posted, err := group.Gather(ctx, "resume", text)
	if err != nil {
		return err
	}
	all := make([]memory, len(posted))
	for rank, text := range posted {
		if err := json.Unmarshal(text, &all[rank]); err != nil {
			return fmt.Errorf("%v says nothing of an earlier run that this build can read: %w", group.Members()[rank], err)
		}
	}
	o.earlier, err = recollect(all, group.Members())
	if o.earlier != nil {
		o.flags, o.command, o.job = o.earlier.Flags, o.earlier.Command, o.earlier.Job
	}
	return err
}

// recollect returns the run that all go on with, nil if they begin one.
func recollect(all []memory, members []ranks.Member) (*resultfile.Manifest, error) {
	refuse := func(format string, args ...any) (*resultfile.Manifest, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{harness.ErrUsage}, args...)...)
	}
	first := -1
	for rank, m := range all {
		switch {
		case m.Resume != all[0].Resume && m.Resume:
			return refuse("%v has --resume, and %v has not: give all ranks the same flags", members[rank], members[0])
		case m.Resume != all[0].Resume:
			return refuse("%v has --resume, and %v has not: give all ranks the same flags", members[0], members[rank])
		case m.Refused != "":
			return refuse("%v cannot go on: %s", members[rank], resultfile.Line(m.Refused))
		case m.Run != nil && first < 0:
			first = rank
		}
	}
	if first < 0 {
		if all[0].Resume {
			return refuse("no rank has a part of a run to go on with in its directory: leave out --resume to begin one")
		}
		return nil, nil
	}
	for rank, m := range all {
		if m.Run == nil {
			continue
		}
		if what := unlike(*all[first].Run, *m.Run); what != "" {
			return refuse("%v goes on with another run than %v: %s", members[rank], members[first], what)
		}
	}
	return all[first].Run, nil
}

// unlike says in what the runs of two parts differ, "" if they are of one.
func unlike(a, b resultfile.Manifest) string {
	for _, c := range []struct {
		what       string
		first, its any
	}{
		{"job", a.Job, b.Job},
		{"seed", a.Seed, b.Seed},
		{"rounds", a.Rounds, b.Rounds},
		{"cases", a.Cases, b.Cases},
		{"window", a.Window, b.Window},
	} {
		if c.first != c.its {
			return fmt.Sprintf("%s %v, not %v", c.what, c.its, c.first)
		}
	}
	for name, value := range b.Flags {
		if a.Flags[name] != value {
			return fmt.Sprintf("it was started with --%s %q, not %q", name, value, a.Flags[name])
		}
	}
	if !maps.Equal(a.Flags, b.Flags) || !maps.Equal(a.Windows, b.Windows) {
		return "its plan is another"
	}
	return ""
}

// part returns what this rank has kept, nil if its directory has no run yet.
func (o *runOptions) part() (*resultfile.Manifest, error) {
	refuse := func(format string, args ...any) (*resultfile.Manifest, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{harness.ErrUsage}, args...)...)
	}
	if resultfile.Unbegun(o.out) {
		return nil, nil
	}
	if !resultfile.Exists(o.out) {
		return nil, vacant(o.out)
	}
	m, err := readPart(o.out)
	if err != nil {
		return nil, err
	}
	switch err := resultfile.Free(o.out); {
	case err != nil:
		return refuse("%s: %v: end the rank that does, perhaps one that was stopped", o.out, err)
	case !m.IsPart():
		return refuse("%s holds no part of a run of several ranks", o.out)
	case m.Ranks != o.ranks:
		return refuse("the run in %s is of %d ranks, not %d", o.out, m.Ranks, o.ranks)
	case m.Rank != o.rank:
		return refuse("%s holds the part of rank %d", o.out, m.Rank)
	case m.Flags == nil:
		return refuse("the run in %s does not say how it was planned", o.out)
	}
	now := resultfile.Manifest{Machine: machine.Capture(), Commit: machine.BuildCommit(), Binary: machine.BinaryHash(), Versions: machine.Modules()}
	if why := m.Differs(now); why != "" {
		return refuse("the run in %s: %s", o.out, why)
	}
	return planOf(m), nil
}

// readPart reads the manifest of a part that is there.
func readPart(dir string) (resultfile.Manifest, error) {
	m, err := resultfile.ReadManifest(dir)
	if err != nil {
		err = fmt.Errorf("%w: move %s away to have all ranks measure again what is in it", err, dir)
	}
	return m, err
}

// planOf returns what of m says how the run was planned.
func planOf(m resultfile.Manifest) *resultfile.Manifest {
	return &resultfile.Manifest{Job: m.Job, Command: m.Command, Flags: m.Flags, Seed: m.Seed, Rounds: m.Rounds, Cases: m.Cases,
		OpenEvery: m.OpenEvery, Window: m.Window, Windows: m.Windows, Skipped: m.Skipped, Knees: m.Knees}
}

// recallParts sets o.earlier to the run whose parts are beside o.out, if it is to go on.
func (o *runOptions) recallParts() error {
	if !o.resume {
		return nil
	}
	dir := filepath.Clean(o.out)
	if resultfile.Exists(dir) {
		m, err := resultfile.ReadManifest(dir)
		if err != nil {
			return err
		}
		if len(m.Parts) == 0 {
			return fmt.Errorf("%w: %s holds a run that was not merged from the parts of ranks: choose another directory by --out", harness.ErrUsage, dir)
		}
	}
	for rank := range o.ranks {
		if part := filepath.Join(dir+partsSuffix, fmt.Sprint(rank)); resultfile.Exists(part) {
			m, err := readPart(part)
			if err == nil {
				o.earlier = planOf(m)
				o.flags, o.command = m.Flags, m.Command
			}
			return err
		}
	}
	return fmt.Errorf("%w: %s holds no part of a run to go on with: leave out --resume to begin one", harness.ErrUsage, dir+partsSuffix)
}

// What a rank has of a case and round.
const (
	lacks  = iota
	keeps  // a result
	breaks // a result that shows that the lock broke a promise
)

// keepShared makes p leave out the cases and rounds that all ranks have kept, and those
// in which a rank saw the lock break a promise, which is their result whatever the others
// have. What else this rank has kept, in earlier, is taken out of the run: it is measured
// again.
func (o *runOptions) keepShared(ctx context.Context, group *ranks.Group, p *runner.Plan, out *resultfile.Writer, earlier *resultfile.Run, stderr io.Writer) error {
	if o.earlier == nil {
		return nil
	}
	own, err := keptOf(p, earlier)
	if err != nil {
		return err
	}
	all, err := group.Gather(ctx, "kept", pack(own))
	if err != nil {
		return err
	}
	done, err := shared(all, len(own))
	if err != nil {
		return err
	}
	index := make(map[string]int)
	for i, c := range p.Cases {
		index[c.Name()] = i
	}
	at := func(name string, round int) bool { return done[round*len(p.Cases)+index[name]] }
	p.Done = func(c runner.Case, round int) bool { return at(c.Name(), round) }
	if earlier == nil {
		fmt.Fprintf(stderr, "rank %d of %d has kept nothing of the run: all ranks measure again what they kept\n", o.rank, o.ranks)
		return nil
	}
	n, err := out.Drop(earlier, func(r *harness.Result) bool { return !at("lock="+r.Lock.Name+"/"+r.Workload.Name(), r.Round) })
	if n > 0 {
		fmt.Fprintf(stderr, "rank %d of %d: %s that other ranks lack %s measured again; %s keeps what this one has of %s\n", o.rank, o.ranks,
			numfmt.Plural(n, "measurement"), numfmt.Choose(n, "is", "are"), filepath.Join(o.out, resultfile.DroppedName), numfmt.Choose(n, "it", "them"))
	}
	return err
}

// keptOf returns what run, which may be nil, has of each case and round of p: round by round.
func keptOf(p *runner.Plan, run *resultfile.Run) ([]byte, error) {
	own := make([]byte, p.Rounds*len(p.Cases))
	if run == nil {
		return own, nil
	}
	have := make(map[caseRound]*harness.Result)
	for _, r := range run.Results {
		at := caseRound{"lock=" + r.Lock.Name + "/" + r.Workload.Name(), r.Round}
		if have[at] != nil || r.Round < 0 || r.Round >= p.Rounds {
			return nil, fmt.Errorf("%w: the run in %s is damaged: it has round %d of %s twice, or too many rounds", harness.ErrUsage, run.Dir, r.Round+1, at.name)
		}
		have[at] = r
	}
	for round := range p.Rounds {
		for i, c := range p.Cases {
			if r := have[caseRound{c.Name(), round}]; r != nil {
				own[round*len(p.Cases)+i] = keeps
				if len(r.Violations) > 0 {
					own[round*len(p.Cases)+i] = breaks
				}
			}
		}
	}
	return own, nil
}

// pack puts four of what a rank has into a byte.
func pack(own []byte) []byte {
	out := make([]byte, (len(own)+3)/4)
	for i, v := range own {
		out[i/4] |= v << (i % 4 * 2)
	}
	return out
}

var errKept = errors.New("a rank says of other cases and rounds what it has kept: its build is another")

// shared returns which of n cases and rounds are done, by what all ranks have packed.
func shared(all [][]byte, n int) ([]bool, error) {
	done := make([]bool, n)
	for i := range done {
		kept, broke := true, false
		for _, packed := range all {
			if len(packed) != (n+3)/4 {
				return nil, errKept
			}
			v := packed[i/4] >> (i % 4 * 2) & 3
			kept, broke = kept && v != lacks, broke || v == breaks
		}
		done[i] = kept || broke
	}
	return done, nil
}
