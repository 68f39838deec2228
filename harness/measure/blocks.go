package measure

import (
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
	"locklab/internal/machine"
)

// The length of a block of local locks: with excess workers two preemption slices.
const (
	blockAlone = 5 * time.Millisecond // one worker
	blockFew   = 10 * time.Millisecond
	blockMany  = 20 * time.Millisecond

	// blockEach is for each of thousands of workers: at the begin of a block all are ready to run,
	// and the next owner may be the last in the run queue, behind all that have yet to ask.
	blockEach = 20 * time.Microsecond
)

// fewestBlocks is the least number of blocks of a lock in a process. With one worker it is double,
// because blocks are short, and a host may slow a processor for milliseconds.
const fewestBlocks = 2

func (p *Plan) windows(round int) bool { return p.Every.Window < 2 || round%p.Every.Window == 0 }

// blocks returns the number of blocks of each lock in a process of round, and their length. They
// last half of the window together, or a window if the locks are distributed. If only some
// processes have windows, these have half of the least number. Several workers of a distributed
// lock begin and end slowly. So they have no block then, as a window is one too, and one that lasts
// two windows in the other processes.
func (p *Plan) blocks(w harness.Workload, remote bool, round int) (n int, length time.Duration) {
	some, procs, least := p.Every.Window > 1, cmp.Or(w.GOMAXPROCS, runtime.GOMAXPROCS(0)), fewestBlocks
	switch {
	case remote && w.Workers > 1 && some && p.windows(round):
		return 0, 0
	case remote && w.Workers > 1 && some:
		return 1, 2 * w.Window
	case remote:
		length = max(1, w.Window/fewestBlocks)
	case w.Workers == 1:
		length, least = blockAlone, 2*fewestBlocks
	case w.Workers <= procs:
		length = blockFew
	default:
		length = max(blockMany, time.Duration(w.Workers)*blockEach)
	}
	if some && p.windows(round) {
		return least / 2, length
	}
	return max(least, int(w.Window/(2*length))), length
}

// A unit is the cases of one process: the closed loops of one workload and kind of lock.
type unit []Case

func (p *Plan) units() (out []unit) {
	for _, c := range p.Cases {
		i := slices.IndexFunc(out, func(u unit) bool {
			return u[0].Workload == c.Workload && (u[0].Lock.Remote == nil) == (c.Lock.Remote == nil) && p.shares(u[0])
		})
		if i < 0 || !p.shares(c) {
			i = len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// Shared reports whether locks of p share a process.
func (p *Plan) Shared() bool {
	return slices.ContainsFunc(p.units(), func(u unit) bool { return len(u) > 1 })
}

func (p *Plan) shares(c Case) bool {
	return p.Together == nil && !c.Sought && c.Workload.Rate == 0 && c.Lock.Loop == nil && p.exe == ""
}

// measureUnit measures the cases of u in one process and calls each with every result. Cases
// without a result are measured alone, so that the right lock gets the blame.
func (p *Plan) measureUnit(ctx context.Context, u unit, known calibration, round, serial int, each func(Case, *result.Result, error) error) error {
	left := slices.Clone(u)
	if len(u) > 1 {
		w, remote := u[0].Workload, u[0].Lock.Remote != nil
		s := spec{Workload: w, Round: round, Seed: p.Seed + uint64(serial)<<32, Machine: known, Windowless: !p.windows(round)}
		limit := cmp.Or(p.Patience, time.Minute)
		passes, length := p.blocks(w, remote, round)
		s.Block = length
		for k, n := range p.Race.passes(u, passes) {
			c := u[k]
			s.Shared = append(s.Shared, share{c.Lock.Name, fmt.Sprintf("%s-%d-%d", p.RunID, serial, k), n, p.Race.blocks(c, len(u)), p.access(c)})
			limit += 4 * p.estimate(c, 1, round)
		}
		heard, failed := ask(ctx, s, limit)
		all, _ := results(heard.answer)
		p.Race.count(all)
		for _, res := range all {
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

// measureShared measures the locks of jobs, of one workload, here: alternating blocks, then a
// window of each, its last block, unless s is windowless. It writes each result to out when
// complete.
func measureShared(ctx context.Context, in *Instruments, jobs []Job, s spec, out io.Writer) (err error) {
	var all []*sharer
	defer func() {
		for _, x := range slices.Backward(all) {
			err = errors.Join(err, x.close())
		}
	}()
	process := rand.Uint64() // a resumed run measures in another process, with the same seed
	for i, job := range jobs {
		x := &sharer{perPass: s.Shared[i].PerPass, blocks: result.Blocks{Process: process}}
		all = append(all, x)
		shared := slices.ContainsFunc(jobs[:i], func(j Job) bool { return j.At.Kind == job.At.Kind })
		if _, err := x.open(ctx, in, job, shared); err != nil {
			return err
		}
		x.meter.leave(ctx)
	}
	rng, noise := rand.New(rand.NewPCG(s.Seed, 1)), machine.Watch()
	most := slices.MaxFunc(s.Shared, func(a, b share) int { return a.Passes - b.Passes }).Passes
	runtime.GC()
	for pass := range most {
		var order []int
		for i, x := range s.Shared {
			if pass >= x.Passes {
				all[i].add(pass, new(result.Result))
				continue
			}
			order = append(order, slices.Repeat([]int{i}, x.PerPass)...)
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			if err := all[i].block(ctx, pass, s.Block); err != nil {
				return err
			}
		}
	}
	seen := noise.Stop()
	runtime.GC()
	for _, i := range rng.Perm(len(all)) {
		if s.Windowless {
			err = all[i].end(seen, s.Round, out)
		} else {
			err = all[i].window(ctx, most, s.Round, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A sharer is one of the locks in a process, or the only one.
type sharer struct {
	rig     *Rig
	meter   *serverMeter
	perPass int // blocks
	blocks  result.Blocks
	sum     result.Result // of the blocks
}

// open sets up the lock of job and warms it up. It returns the result of the warm-up.
func (x *sharer) open(ctx context.Context, in *Instruments, job Job, shared bool) (*result.Result, error) {
	x.meter = newServerMeter(ctx, job, shared)
	if job.ready == nil {
		job.ready = func() {}
	}
	if job.Lock.Local != nil {
		job.ready() // its construction is not judged
	}
	if _, err := job.together.begin(ctx, pointServers); err != nil {
		return nil, err
	}
	var err error
	if x.rig, err = Open(ctx, in, job); err != nil {
		return nil, err
	}
	if job.Lock.Local == nil {
		job.ready()
	}
	if _, err := job.together.begin(ctx, pointLock); err != nil {
		return nil, err
	}
	return x.drive(ctx, Limit{Window: max(job.Workload.Warmup, leastWarmup)})
}

func (x *sharer) close() error {
	if x.rig == nil {
		return nil
	}
	return x.rig.Close()
}

// drive is Rig.Drive that returns the result of a violation with an error.
func (x *sharer) drive(ctx context.Context, limit Limit) (*result.Result, error) {
	res, err := x.rig.Drive(ctx, limit)
	if err == nil && len(res.Violations) > 0 {
		err = errViolated
	}
	return res, cmp.Or(err, ctx.Err())
}

func (x *sharer) block(ctx context.Context, pass int, length time.Duration) error {
	x.meter.enter(ctx)
	defer x.meter.leave(ctx)
	res, err := x.drive(ctx, Limit{Window: length, Steady: x.rig.job.steady() / 4})
	if err == nil {
		x.add(pass, res)
		x.sum.AddBlock(res)
	}
	return err
}

// end writes the result of a process without windows.
func (x *sharer) end(seen machine.Noise, round int, out io.Writer) error {
	x.sum.Blocks = &x.blocks
	x.rig.disturb(&x.sum, seen)
	return writeResult(out, &x.sum, round)
}

// window measures the window, the block of the last pass, and writes the result to out.
func (x *sharer) window(ctx context.Context, pass, round int, out io.Writer) error {
	x.meter.enter(ctx)
	defer x.meter.leave(ctx)
	res, err := x.rig.window(ctx, x.meter)
	if err != nil {
		return err
	}
	x.add(pass, res)
	res.Blocks = &x.blocks
	if err := writeResult(out, res, round); err != nil || len(res.Violations) > 0 {
		return errors.Join(err, errViolated)
	}
	return nil
}

func (x *sharer) add(pass int, r *result.Result) {
	if x.perPass > 1 {
		x.blocks.Passes = append(x.blocks.Passes, pass)
	}
	x.blocks.Elapsed = append(x.blocks.Elapsed, int64(r.Elapsed))
	x.blocks.Ops = append(x.blocks.Ops, r.Ops)
	x.blocks.Handovers = append(x.blocks.Handovers, r.Handovers)
}

// errViolated ends a process of several locks: a violation may disturb the others.
var errViolated = errors.New("measure: a lock broke a promise in a process that others share")
