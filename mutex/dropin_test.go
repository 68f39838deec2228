package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/harness/locktest"
	"locklab/mutex"
)

func TestMutexIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(mutex.Mutex{}); size > 16 {
		t.Errorf("a Mutex has %d bytes, want 16 at most", size)
	}
}

func TestUnlockOfFreeLock(t *testing.T) {
	for want, f := range map[string]func(){
		"mutex: Unlock of a Chan that is not locked":     mutex.NewChan().Unlock,
		"mutex: Unlock of a Mutex that is not locked":    new(mutex.Mutex).Unlock,
		"mutex: Unlock of an RWMutex that is not locked": new(mutex.RWMutex).Unlock,
		"mutex: RUnlock of an RWMutex without a reader":  new(mutex.RWMutex).RUnlock,
	} {
		locktest.RequirePanic(t, "a free lock", want, f)
	}
	var l mutex.RWMutex
	l.Lock()
	locktest.RequirePanic(t, "a writer inside", "mutex: RUnlock of an RWMutex without a reader", l.RUnlock)
	l.Unlock()
}

func TestLockContext(t *testing.T) {
	cause := errors.New("no longer wanted")
	for name, l := range map[string]interface {
		tryLocker
		LockContext(context.Context) error
	}{"Chan": mutex.NewChan(), "Mutex": new(mutex.Mutex)} {
		if err := l.LockContext(t.Context()); err != nil {
			t.Fatalf("%s: free lock: %v", name, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		if err := l.LockContext(ctx); !errors.Is(err, cause) {
			t.Fatalf("%s: held lock, context cancelled while waiting: got %v, want %v", name, err, cause)
		}
		l.Unlock()
		for range 100 { // a select would choose at random
			if err := l.LockContext(ctx); !errors.Is(err, cause) {
				t.Fatalf("%s: free lock, context ended: got %v, want %v", name, err, cause)
			}
		}
		if !l.TryLock() {
			t.Fatalf("%s: the waiter that gave up left the lock held", name)
		}
	}
}

func ExampleMutex() {
	var (
		mu    mutex.Mutex // ready to use
		count int         // guarded by mu
		wg    sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				count++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(count)
	// Output: 4000
}

func ExampleMutex_LockContext() {
	var mu mutex.Mutex
	mu.Lock()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := mu.LockContext(ctx); err != nil {
		fmt.Println("gave up:", err)
	}
	// Output: gave up: context deadline exceeded
}

func TestConstructorsRefuseMistakes(t *testing.T) {
	for name, worker := range map[string]func(workers int, o mutex.Options, i int){
		"MCSPark":  func(n int, o mutex.Options, i int) { mutex.NewMCSPark(n, o).Worker(i) },
		"SpinPark": func(n int, o mutex.Options, i int) { mutex.NewSpinPark(n, o).Worker(i) },
		"BRAVO":    func(n int, o mutex.Options, i int) { mutex.NewBRAVO(n, new(sync.RWMutex), o).Worker(i) },
	} {
		for _, good := range []int{1, 3} {
			locktest.RequirePanic(t, name, "", func() { worker(good, mutex.Options{}, good-1) })
		}
		for _, bad := range []int{0, -1, -5} {
			locktest.RequirePanic(t, name, fmt.Sprintf("locklab: a lock for %d workers: want at least 1", bad), func() { worker(bad, mutex.Options{}, 0) })
		}
		locktest.RequirePanic(t, name, `locklab: unknown wait policy "often"`, func() { worker(2, mutex.Options{Wait: "often"}, 0) })
		locktest.RequirePanic(t, name, `locklab: unknown pin "core"`, func() { worker(2, mutex.Options{Pin: "core"}, 0) })
		for _, i := range []int{-1, 2} {
			locktest.RequirePanic(t, name, fmt.Sprintf("locklab: worker %d of a lock for 2", i), func() { worker(2, mutex.Options{}, i) })
		}
	}
}

func TestWaitersRefuseMistakes(t *testing.T) {
	const often = `locklab: unknown wait policy "often"`
	locktest.RequirePanic(t, "SeqLock", often, func() {
		l := mutex.SeqLock{Wait: "often"}
		l.Lock()
		l.Lock()
	})
	locktest.RequirePanic(t, "PhaseFair", often, func() {
		l := mutex.PhaseFair{Wait: "often"}
		l.Lock()
		l.RLock()
	})
}

// TestMutexFairness: a goroutine that sleeps with the lock and takes it back at once cannot keep
// it from another one, in number of acquisitions.
func TestMutexFairness(t *testing.T) {
	const pause, wanted, most = 100 * time.Microsecond, 10, 1000
	var mu mutex.Mutex
	var got atomic.Int32
	go func() {
		for range wanted {
			time.Sleep(pause)
			mu.Lock()
			got.Add(1)
			mu.Unlock()
		}
	}()
	for n := 0; got.Load() < wanted; n++ {
		if n == most {
			t.Fatalf("%d acquisitions of one goroutine, %d of the other, want %d", n, got.Load(), wanted)
		}
		mu.Lock()
		time.Sleep(pause)
		mu.Unlock()
	}
}
