package measure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// The length of a block of local locks: with excess workers two preemption slices.
const (
	blockAlone = 5 * time.Millisecond // one worker
	blockFew   = 10 * time.Millisecond
	blockMany  = 20 * time.Millisecond
)

// The number of blocks of each lock.
const (
	fewestPasses = 3 // least for local locks
	remotePasses = 2
)

// block returns the length of a block of w. Blocks of distributed locks grow with the window.
func block(w harness.Workload, remote bool) time.Duration {
	procs := cmp.Or(w.GOMAXPROCS, runtime.GOMAXPROCS(0))
	switch {
	case remote:
		return w.Window / remotePasses
	case w.Workers == 1:
		return blockAlone
	case w.Workers <= procs:
		return blockFew
	}
	return blockMany
}

// passes returns the blocks of each lock, for a local one half of the window.
func passes(w harness.Workload, remote bool) int {
	if remote {
		return remotePasses
	}
	return max(fewestPasses, int(w.Window/(2*block(w, remote))))
}

// A unit is the cases of one process: the closed loops of one workload and kind of lock.
type unit []Case

type unitKey struct {
	workload harness.Workload
	remote   bool
}

func (c Case) unit() unitKey { return unitKey{c.Workload, c.Lock.Remote != nil} }

func (p *Plan) units() (out []unit) {
	at := make(map[unitKey]int)
	for _, c := range p.Cases {
		k := c.unit()
		i, known := at[k]
		if !p.shares(c) || !known {
			i = len(out)
			out = append(out, nil)
			if p.shares(c) {
				at[k] = i
			}
		}
		out[i] = append(out[i], c)
	}
	return out
}

func (p *Plan) sizes() map[unitKey]int {
	out := make(map[unitKey]int)
	for _, c := range p.Cases {
		if p.shares(c) {
			out[c.unit()]++
		}
	}
	return out
}

func (p *Plan) shares(c Case) bool {
	return p.Together == nil && !c.Sought && c.Workload.Rate == 0 && c.Lock.Loop == nil && p.exe == ""
}

// measureUnit measures the cases of u in one process and calls each with every result. Cases
// without a result are measured alone, so that the right lock gets the blame.
func (p *Plan) measureUnit(ctx context.Context, u unit, known calibration, round, serial int, each func(Case, *harness.Result, error) error) error {
	left := slices.Clone(u)
	if len(u) > 1 {
		s := spec{Workload: u[0].Workload, Round: round, Seed: p.Seed + uint64(serial)<<32, Machine: known}
		limit := cmp.Or(p.Patience, time.Minute)
		for k, c := range u {
			s.Shared = append(s.Shared, share{c.Lock.Name, fmt.Sprintf("%s-%d-%d", p.RunID, serial, k), p.access(c)})
			limit += 4 * p.estimate(c)
		}
		heard, failed := ask(ctx, s, limit)
		for _, res := range results(heard.answer) {
			i := slices.IndexFunc(left, func(c Case) bool { return c.Lock.Name == res.Lock.Name && res.Workload == c.Workload })
			if i < 0 || len(res.Violations) > 0 {
				continue
			}
			c := left[i]
			left = slices.Delete(left, i, i+1)
			if err := each(c, res, nil); err != nil {
				return err
			}
		}
		if ctx.Err() != nil || errors.Is(failed, harness.ErrUsage) {
			return errors.Join(ctx.Err(), failed)
		}
	}
	for k, c := range left {
		res, err := p.measureTwice(ctx, c, known, round, serial<<8+k)
		if err := each(c, res, err); err != nil {
			return err
		}
	}
	return nil
}

func results(text []byte) (out []*harness.Result) {
	for line := range bytes.Lines(text) {
		if record, err := result.Decode(bytes.TrimSpace(line)); err == nil && record.Result != nil {
			out = append(out, record.Result)
		}
	}
	return out
}

// measureShared measures the locks of jobs, of one workload, here: alternating blocks, then a
// window of each, its last block. It writes each result to out when complete.
func measureShared(ctx context.Context, in *Instruments, jobs []Job, s spec, out io.Writer) (err error) {
	sh := &sharing{jobs: jobs, rigs: make([]*Rig, len(jobs)), meters: make([]*serverMeter, len(jobs)), blocks: make([]harness.Blocks, len(jobs))}
	defer func() { err = errors.Join(err, sh.close()) }()
	for i := range jobs {
		if err := sh.open(ctx, in, i); err != nil {
			return err
		}
		sh.blocks[i].Process = s.Seed
	}
	rng, remote := rand.New(rand.NewPCG(s.Seed, 1)), jobs[0].Lock.Remote != nil
	for range passes(s.Workload, remote) {
		runtime.GC()
		for _, i := range rng.Perm(len(jobs)) {
			sh.meters[i].enter(ctx)
			if err := sh.rigs[i].clean(ctx, Limit{Window: block(s.Workload, remote), Steady: jobs[i].steady()}, &sh.blocks[i]); err != nil {
				return err
			}
			sh.meters[i].leave(ctx)
		}
	}
	for _, i := range rng.Perm(len(jobs)) {
		res, err := sh.window(ctx, i)
		if err != nil {
			return err
		}
		res.Round = s.Round
		text, err := result.Encode(result.Record{Result: res})
		if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil || len(res.Violations) > 0 {
			return errors.Join(err, errViolated)
		}
	}
	return nil
}

// A sharing is the locks of one process, by job.
type sharing struct {
	jobs   []Job
	rigs   []*Rig
	meters []*serverMeter
	blocks []harness.Blocks
}

// open makes and warms up lock i.
func (sh *sharing) open(ctx context.Context, in *Instruments, i int) (err error) {
	job := sh.jobs[i]
	sh.meters[i] = newServerMeter(ctx, job, slices.ContainsFunc(sh.jobs[:i], func(j Job) bool { return j.At.Kind == job.At.Kind }))
	if sh.rigs[i], err = Open(ctx, in, job); err != nil {
		return err
	}
	if err := sh.rigs[i].clean(ctx, Limit{Window: max(job.Workload.Warmup, leastWarmup)}, nil); err != nil {
		return err
	}
	sh.meters[i].leave(ctx)
	return nil
}

func (sh *sharing) window(ctx context.Context, i int) (*harness.Result, error) {
	sh.meters[i].enter(ctx)
	res, err := sh.rigs[i].window(ctx, sh.meters[i])
	if err != nil {
		return nil, err
	}
	sh.meters[i].leave(ctx)
	addBlock(&sh.blocks[i], res)
	res.Blocks = &sh.blocks[i]
	return res, nil
}

func (sh *sharing) close() (err error) {
	for _, m := range sh.meters {
		m.close()
	}
	for _, r := range slices.Backward(sh.rigs) {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	return err
}

// errViolated ends a process of several locks: a violation may disturb the others.
var errViolated = errors.New("measure: a lock broke a promise in a process that others share")

func (r *Rig) clean(ctx context.Context, limit Limit, b *harness.Blocks) error {
	res, err := r.Drive(ctx, limit)
	switch {
	case err != nil:
		return err
	case len(res.Violations) > 0:
		return errViolated
	case b != nil:
		addBlock(b, res)
	}
	return ctx.Err()
}

func addBlock(b *harness.Blocks, r *harness.Result) {
	b.Elapsed = append(b.Elapsed, int64(r.Elapsed))
	b.Ops = append(b.Ops, r.Ops)
	b.Handovers = append(b.Handovers, r.Handovers)
}
