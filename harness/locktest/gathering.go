package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// A gathering drives a new lock in lockstep. In each round some workers hold the lock and all
// others ask for it. The holders leave together, and the next round begins when every worker
// has had the lock once. So no later arrival hides a lost wake-up or a shared place.
// Its fields are the state of a round, which all its workers share.
type gathering struct {
	hs     []sync.Locker
	rounds int
	until  time.Time           // no round begins after it; zero: no limit
	share  int                 // number of simultaneous holders; 0 is one
	reads  bool                // the lock has readers, which take part
	shared bool                // with reads: readers hold the lock in every round
	hold   func(round int)     // the holder's action while the others wait; nil: nothing
	gap    func(trial int)     // delays between the requests of waiters, behind which the holder asks again; nil: all at once
	inside occupancy           // judges which workers are inside
	judge  func(g *scene) bool // whether the round was correct, else it is repeated; nil: always

	scene
	over                bool
	in, asked, got, met atomic.Int32    // holders inside, waiters that have asked, those served, workers that have finished
	left                atomic.Int32    // holders that are about to leave
	ready, all, open    chan struct{}   // closed when the holders are inside, when all waiters have asked, when the holders leave
	next                chan struct{}   // closed when the next round begins
	arrive              []chan struct{} // closed when the waiter of that rank may ask; used if gap is set
}

type scene struct {
	round, trial int
	holders      int     // the first workers of the order; the others wait
	order        []int   // of workers
	place        []int   // of each worker in the order
	served       []int32 // the waiters in the order of their grants
}

type occupancy interface {
	write(i int, stay func()) error
	read(i int, stay func()) error
}

func (g *gathering) run(ctx context.Context, s Subject) {
	g.prepare()
	drive(ctx, len(g.hs), s.limits(0), g.step)
}

func (g *gathering) prepare() {
	n := len(g.hs)
	if g.trial == 0 {
		g.order, g.place = rand.Perm(n), make([]int, n)
		for p, i := range g.order {
			g.place[i] = p
		}
	}
	g.holders = max(1, g.share)
	if g.kind() == 2 {
		g.holders = max(1, n/2) // readers
	}
	g.served = make([]int32, n-g.holders)
	if g.gap != nil {
		g.served = make([]int32, n)
	}
	g.in.Store(0)
	g.asked.Store(0)
	g.got.Store(0)
	g.met.Store(0)
	g.left.Store(0)
	g.ready, g.all, g.open, g.next = make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	if g.gap != nil {
		g.arrive = make([]chan struct{}, n-g.holders+1)
		for i := range g.arrive {
			g.arrive[i] = make(chan struct{})
		}
	}
}

const writersOnly = 3

func (g *gathering) kind() int {
	switch {
	case !g.reads:
		return writersOnly
	case g.shared:
		return 2
	}
	return g.round % 4
}

// reader reports whether the worker in place p reads: nobody in one round of four, otherwise
// all waiters, every other place, or the holders and some waiters.
func (g *gathering) reader(p int) bool {
	switch g.kind() {
	case 0:
		return p >= g.holders
	case 1:
		return p >= g.holders && p%2 == 0
	case 2:
		return p < g.holders || p%3 == 0
	}
	return false
}

func (g *gathering) step(ctx context.Context, i int) {
	if g.over {
		must(errOver)
	}
	p := g.place[i]
	if p < g.holders {
		g.visit(i, p, func() { g.host(ctx, p) })
	} else {
		g.ask(ctx, p-g.holders)
	}
	if p >= g.holders || g.gap != nil {
		g.visit(i, p, func() { g.served[g.got.Add(1)-1] = int32(i) })
	}
	g.meet(ctx)
}

// host is a holder's stay: until all others wait, and then until the first holder ends it.
func (g *gathering) host(ctx context.Context, p int) {
	g.stay(ctx, p)
	// Some mistakes show only if holders leave within less time than a wake-up.
	g.left.Add(1)
	for spins := 1; int(g.left.Load()) < g.holders; spins++ {
		if spins%64 > 0 {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		runtime.Gosched()
	}
}

func (g *gathering) stay(ctx context.Context, p int) {
	if int(g.in.Add(1)) == g.holders {
		close(g.ready)
		if g.gap != nil {
			close(g.arrive[0])
		}
	}
	if p > 0 {
		opened(ctx, g.open)
		return
	}
	defer close(g.open)
	if !opened(ctx, g.ready) || !opened(ctx, g.all) {
		return
	}
	if g.gap != nil {
		g.gap(g.trial) // for the last one
	}
	if g.hold != nil {
		g.hold(g.round)
	}
}

func (g *gathering) ask(ctx context.Context, rank int) {
	await(ctx, g.ready)
	if g.gap != nil {
		await(ctx, g.arrive[rank])
		g.gap(g.trial)
		close(g.arrive[rank+1])
	}
	if int(g.asked.Add(1)) == len(g.hs)-g.holders {
		close(g.all)
	}
}

func (g *gathering) visit(i, p int, stay func()) { visit(g.hs[i], g.inside, i, g.reader(p), stay) }

// meet waits until all workers have finished the round. The last one sets up the next.
func (g *gathering) meet(ctx context.Context) {
	next := g.next
	if int(g.met.Add(1)) < len(g.hs) {
		await(ctx, next)
		return
	}
	if g.judge == nil || g.judge(&g.scene) {
		g.trial, g.round = 0, g.round+1
	} else {
		g.trial++
	}
	g.over = g.round == g.rounds || !g.until.IsZero() && time.Now().After(g.until)
	if !g.over {
		g.prepare()
	}
	close(next)
}

func await(ctx context.Context, c <-chan struct{}) {
	if !opened(ctx, c) {
		must(ctx.Err())
	}
}

// opened waits until c is closed or has a value, and returns false if ctx ends first.
func opened(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
	}
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// RequirePanic fails tb unless f panics with a message that begins with want, or does not
// panic if want is "".
func RequirePanic(tb testing.TB, name, want string, f func()) {
	tb.Helper()
	defer func() {
		got := ""
		if r := recover(); r != nil {
			got = fmt.Sprint(r)
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			tb.Errorf("%s: panic %q, want %q", name, got, want)
		}
	}()
	f()
}

// Endpoint starts a server of the kind for tb, or uses the one that the environment names.
// Without one it skips tb with the reason, or fails it if LOCKLAB_REQUIRE names the kind.
func Endpoint(tb testing.TB, kind string) harness.Endpoint {
	tb.Helper()
	return Endpoints(tb, kind, 1)
}

// Endpoints is Endpoint for n independent servers, or fewer: see [harness.Traits.Lacks].
func Endpoints(tb testing.TB, kind string, n int) harness.Endpoint {
	tb.Helper()
	at, err := startServers(tb, kind, n)
	RequireServers(tb, kind, err)
	return at
}

// startServers starts n servers of the kind, which stop when tb ends.
func startServers(tb testing.TB, kind string, n int) (harness.Endpoint, error) {
	server, err := backend.StartSetup(tb.Context(), kind, backend.Setup{Independent: n})
	if err != nil {
		return harness.Endpoint{}, err
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Errorf("stop %s: %v", kind, err)
		}
	})
	return server.Endpoint(), nil
}

// RequireServers skips or fails tb without servers, as Endpoint does. Any other err fails it.
func RequireServers(tb testing.TB, kind string, err error) {
	tb.Helper()
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(kind) {
		tb.Skipf("no %s: %v", kind, err)
	} else if err != nil {
		tb.Fatalf("no %s: %v", kind, err)
	}
}

// Servers returns the greatest number of independent servers of a kind that any of vs
// needs, at least one.
func Servers(vs []*harness.Variant, kind string) int {
	n := 1
	for _, v := range vs {
		if v.Traits.Needs == kind {
			n = max(n, v.Traits.Servers)
		}
	}
	return n
}
