package spinlock

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/atomics"
)

// TestCohortKeepsItsBound counts the acquisitions of a node while both nodes wait.
func TestCohortKeepsItsBound(t *testing.T) {
	l := NewCohort(2, Options{Nodes: []int{0, 1}})
	n := l.Worker(0)
	for _, waiters := range []uint32{1000, 1000, 0} {
		n.local.serving.Store(n.local.next.Load())
		n.Lock()
		n.local.next.Add(waiters)
		kept, want := 1, 64 // the value of the paper
		if waiters == 0 {
			want = 1
		}
		for n.Unlock(); n.passed.get() == 1; n.Unlock() {
			kept++
			if l.global.TryLock() {
				t.Fatalf("the global lock is free in acquisition %d of a node that has it", kept)
			}
		}
		if kept != want || !l.global.TryLock() {
			t.Fatalf("%d waiters: the node had the lock for %d acquisitions, want %d and the global lock free", waiters, kept, want)
		}
		l.global.Unlock()
	}
}

// TestMalthusianReadmits counts the releases until the worker set aside is served.
func TestMalthusianReadmits(t *testing.T) {
	l := NewMalthusian(3, Options{})
	holder, next, aside := l.Worker(0), l.Worker(1), l.Worker(2)
	holder.Lock()
	l.setAside(aside.id)
	for release := 1; release <= malthusianPeriod; release++ {
		holder.next.Store(l.queueUp(next))
		holder.Unlock()
		if got, want := aside.grant.state.Load() == grantGiven, release == malthusianPeriod; got != want {
			t.Fatalf("release %d of %d: the worker set aside is served: %t", release, malthusianPeriod, got)
		}
		if release == malthusianPeriod {
			break
		}
		if next.grant.state.Load() != grantGiven {
			t.Fatalf("release %d: the next in the queue is not served", release)
		}
		next.grant.reset()
		holder, next = next, holder
	}
	if aside.next.Load() != next.id || l.oldest.get() != 0 || l.newest.get() != 0 {
		t.Errorf("the worker set aside has %d behind it, want %d; on the passive list %d to %d, want none",
			aside.next.Load(), next.id, l.oldest.get(), l.newest.get())
	}
}

func (l *Malthusian) queueUp(n *MalthusianWorker) uint32 {
	l.tail.Store(n.id)
	return n.id
}

func TestMalthusianServes(t *testing.T) {
	for _, c := range []struct {
		queue, passive []int // workers behind the holder, worker 0; passive from the oldest
		served         int
		left           []int // on the passive list
	}{
		{nil, nil, -1, nil},
		{[]int{1}, nil, 1, nil},
		{[]int{1, 2}, nil, 2, []int{1}},
		{[]int{1, 2, 3}, nil, 2, []int{1}},
		{[]int{1, 2}, []int{3}, 2, []int{3, 1}},
		{nil, []int{1}, 1, nil},
		{nil, []int{1, 2}, 2, []int{1}},
		{nil, []int{1, 2, 3}, 3, []int{1, 2}},
	} {
		l := NewMalthusian(4, Options{})
		last := l.Worker(0)
		last.Lock()
		for _, i := range c.passive {
			l.Worker(i).next.Store(last.id) // as it was in the queue
			l.setAside(l.Worker(i).id)
		}
		for _, i := range c.queue {
			last.next.Store(l.queueUp(l.Worker(i)))
			last = l.Worker(i)
		}
		l.Worker(0).Unlock()
		served := -1
		for i := range 4 {
			if l.Worker(i).grant.state.Load() == grantGiven {
				served = i
			}
		}
		if len(c.queue) == 0 && served > 0 && l.Worker(served).next.Load() != 0 {
			t.Errorf("passive %v: worker %d comes back with one behind it", c.passive, served)
		}
		var left, back []int
		for id := l.oldest.get(); id != 0; id = l.nodes[id].newer.get() {
			left = append(left, int(id)-1)
		}
		for id := l.newest.get(); id != 0; id = l.nodes[id].older.get() {
			back = append(back, int(id)-1)
		}
		slices.Reverse(back)
		if served != c.served || !slices.Equal(left, c.left) || !slices.Equal(back, c.left) || (l.tail.Load() == 0) != (served < 0) {
			t.Errorf("queue %v, passive %v: served %d, passive %v, from the newest %v, tail %d; want %d and %v",
				c.queue, c.passive, served, left, back, l.tail.Load(), c.served, c.left)
		}
	}
}

func TestMalthusianPassiveList(t *testing.T) {
	const workers = 4
	l := NewMalthusian(workers, Options{})
	var want []uint32
	for step := range 1000 {
		switch free := uint32(1 + rand.IntN(workers)); {
		case !slices.Contains(want, free):
			l.setAside(free)
			want = append(want, free)
		case rand.IntN(2) == 0:
			if got := l.takeOldest(); got != want[0] {
				t.Fatalf("step %d: the oldest is %d, want %d", step, got, want[0])
			}
			want = want[1:]
		default:
			if got := l.newest.get(); got != want[len(want)-1] {
				t.Fatalf("step %d: the newest is %d, want %d", step, got, want[len(want)-1])
			}
			l.takeNewest()
			want = want[:len(want)-1]
		}
		if len(want) == 0 && (l.oldest.get() != 0 || l.newest.get() != 0) {
			t.Fatalf("step %d: an empty list from %d to %d", step, l.oldest.get(), l.newest.get())
		}
	}
}

// TestNumbersWrap lets workers queue up across the wrap of the numbers that a lock draws.
func TestNumbersWrap(t *testing.T) {
	const waiters = 4
	for _, wait := range []WaitPolicy{WaitAdaptive, WaitYield, WaitPark} {
		for before := range uint32(waiters + 2) {
			first, o := -before, Options{Wait: wait}
			for name, l := range map[string]numbered{
				"Ticket of zero value": &Ticket{Wait: wait},
				"Ticket":               NewTicket(waiters+1, o),
				"ProportionalTicket":   NewProportionalTicket(waiters+1, o),
				"TWA":                  NewTWA(waiters+1, NewWaitingArray(64), o),
				"Anderson":             NewAnderson(waiters+1, o),
			} {
				if got := queueFrom(l, first, waiters); !slices.Equal(got, []int{0, 1, 2, 3}) || !l.TryLock() {
					t.Errorf("%s, wait=%s, from number %d: waiters served in the order %v, and the lock free then", name, wait, int32(first), got)
				}
			}
		}
	}
}

type numbered interface {
	sync.Locker
	TryLock() bool
	begin0(number uint32)
	drawn() uint32
}

func (l *Ticket) begin0(number uint32) { l.next.Store(number); l.serving.Store(number) }
func (l *Ticket) drawn() uint32        { return l.next.Load() }

func (l *Anderson) begin0(number uint32) {
	l.flag(0).Store(0)
	l.flag(number).Store(1)
	l.next.Store(number)
}
func (l *Anderson) drawn() uint32 { return l.next.Load() }

// queueFrom queues waiters up behind a holder with number first, and returns their order.
func queueFrom(l numbered, first uint32, waiters int) (order []int) {
	l.begin0(first)
	l.Lock()
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			l.Lock()
			order = append(order, i)
			l.Unlock()
		})
		for l.drawn() != first+uint32(i)+2 {
			runtime.Gosched()
		}
	}
	if l.TryLock() || len(order) > 0 {
		return nil
	}
	l.Unlock()
	wg.Wait()
	return order
}

func TestHapaxDrawsBlocks(t *testing.T) {
	l := NewHapax(2, NewHapaxSpace(2), Options{})
	seen := map[uint64]bool{0: true}
	for range 3 * hapaxBlock {
		for i := range 2 {
			h := l.Worker(i)
			h.Lock()
			if seen[h.mine] {
				t.Fatalf("value %#x is drawn twice, or is 0", h.mine)
			}
			seen[h.mine] = true
			h.Unlock()
		}
		if len(seen) > hapaxBlock+10 {
			break
		}
	}
}

// TestHapaxMeets: of an arrival and a release at the same moment one sees the other, on amd64
// by the fence between the store of depart and the load of the slot.
func TestHapaxMeets(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: nothing happens at the same moment")
	}
	for _, wait := range []WaitPolicy{WaitYield, WaitPark} {
		l := NewHapax(2, NewHapaxSpace(2), Options{Wait: wait})
		holder, arrival := l.Worker(0), l.Worker(1)
		var begun, done atomics.Uint32
		const rounds = 200_000
		end := time.Now().Add(200 * time.Millisecond)
		go func() {
			for round := uint32(1); round <= rounds; round++ {
				for spins := 0; begun.Load() < round; spins++ {
					if begun.Load() == rounds+1 {
						return
					}
					if spins > 1000 {
						runtime.Gosched()
					}
				}
				for range rand.Uint32N(60) {
				}
				arrival.Lock()
				//lint:ignore SA2001 only that it arrives matters
				arrival.Unlock()
				done.Store(round)
			}
		}()
		for round := uint32(1); round <= rounds && time.Now().Before(end); round++ {
			holder.Lock()
			begun.Store(round)
			for range rand.Uint32N(3000) { // the other side takes as long to see that it may begin
			}
			holder.Unlock()
			if err := awaitValue(&done, round); err != nil {
				t.Fatalf("wait=%s: %v: an arrival in round %d is not let in", wait, err, round)
			}
		}
		begun.Store(rounds + 1)
	}
}

func awaitValue(word *atomics.Uint32, value uint32) error {
	for spins, start := 0, time.Now(); word.Load() != value; spins++ {
		if spins < 1000 {
			continue
		}
		if time.Since(start) > 10*time.Second {
			return fmt.Errorf("it is %d, want %d", word.Load(), value)
		}
		runtime.Gosched()
	}
	return nil
}
