package lab

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// herd12: one release wakes one waiter in each process; only a queue wakes one in all.
func herd12(t *testing.T, s *scene) {
	const processes = 3
	h := s.process12().thread()
	s.must(h.hold(t.Context()))
	var all sync.WaitGroup
	var views []*lock12
	var slept sync.WaitGroup
	stay := make(chan struct{})
	for range processes {
		p := s.process12()
		views = append(views, p)
		slept.Add(1)
		p.before = once("sleep", 1, slept.Done)
		all.Go(func() {
			w := p.thread()
			if err := w.hold(t.Context()); err != nil {
				t.Error(err)
			}
			<-stay
			if _, err := w.unlock(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	slept.Wait()
	sum := func() (woken, inVain uint64) {
		for _, p := range views {
			woken, inVain = woken+p.wakeups.Load(), inVain+p.inVain.Load()
		}
		return woken, inVain
	}
	_, err := h.unlock(t.Context())
	s.must(err)
	eventually(t, "all but one have been woken in vain", func() bool {
		woken, inVain := sum()
		return woken == processes && inVain == processes-1
	})
	close(stay)
	all.Wait()
	t.Logf("%d processes wait: one release wakes %d, %d of them in vain", processes, processes, processes-1)
}

// subscriptions12 prints the saving of a shared subscription.
func subscriptions12(t *testing.T, s *scene) {
	const waiters = 50
	s.watch.Set(t.Context(), s.key, `{"id":"another"}`, 0)
	for _, shared := range []bool{true, false} {
		p0 := newPlain(t, newLink(t, s.at))
		ctx, cancel := context.WithCancel(t.Context())
		var all, slept sync.WaitGroup
		var views []*lock12
		one := newLock12(p0, s.key, 0)
		slept.Add(waiters)
		one.before = func(step string) {
			if step == "sleep" {
				slept.Done()
			}
		}
		for range waiters {
			p := one
			if !shared {
				p = newLock12(p0, s.key, 0)
				p.before = once("sleep", 1, slept.Done)
			}
			views = append(views, p)
			all.Go(func() { p.thread().hold(ctx) })
		}
		slept.Wait()
		sent := one.entries.hub.subscribes.Load()
		if !shared {
			for _, p := range views {
				sent += p.entries.hub.subscribes.Load()
			}
		}
		n, memory := s.subscribers(one.entries.channel)
		t.Logf("%d waiters, shared %-5t: %d SUBSCRIBE, %d connections, %d KiB in the server", waiters, shared, sent, n, memory>>10)
		if want := map[bool]uint64{true: 1, false: waiters}[shared]; sent != want || uint64(n) != want {
			t.Errorf("shared %t: %d SUBSCRIBE and %d connections, want %d", shared, sent, n, want)
		}
		cancel()
		all.Wait()
		eventually(t, "the subscriptions end", func() bool { n, _ := s.subscribers(one.entries.channel); return n == 0 })
	}
}

var totalMemory = regexp.MustCompile(`tot-mem=(\d+)`)

// subscribers returns the connections subscribed to the channel, and their memory.
func (s *scene) subscribers(channel string) (n int64, memory int) {
	ctx := context.WithoutCancel(s.t.Context())
	n = s.watch.PubSubNumSub(ctx, channel).Val()[channel]
	list, err := s.watch.Do(ctx, "client", "list", "type", "pubsub").Text()
	s.must(err)
	for _, m := range totalMemory.FindAllStringSubmatch(list, -1) {
		bytes, err := strconv.Atoi(m[1])
		s.must(err)
		memory += bytes
	}
	return n, memory
}

// lastUnsubscribe lets a waiter come while the last one goes.
func lastUnsubscribe(t *testing.T, s *scene) {
	for _, test := range []struct {
		name    string
		counted bool
		step    string // the waiter comes before it
		heard   bool   // the new waiter gets the message
	}{
		{"copied entries", false, "remove", true},
		{"copied entries", false, "unsubscribe", true},
		{"atomic count", true, "remove", false},
		{"atomic count", true, "unsubscribe", true},
	} {
		t.Run(fmt.Sprintf("%s, before %s", test.name, test.step), func(t *testing.T) {
			p := s.process12()
			var entries interface {
				subscribe(ctx context.Context) (*entry12, error)
				unsubscribe(ctx context.Context)
			} = p.entries
			if test.counted {
				entries = &countedEntries{entries12: p.entries}
			}
			_, err := entries.subscribe(t.Context())
			s.must(err)
			var e *entry12
			p.before = once(test.step, 1, func() { e, err = entries.subscribe(t.Context()) })
			entries.unsubscribe(t.Context())
			s.must(err)
			// The replies to UNSUBSCRIBE and PUBLISH come on different connections.
			want := int64(0)
			if test.heard {
				want = 1
			}
			eventually(t, "the server knows", func() bool { n, _ := s.subscribers(p.entries.channel); return n == want })
			s.must(p.forceUnlock(t.Context()))
			if test.heard {
				eventually(t, "the new waiter is woken", func() bool { return len(e.latch) == 1 })
				entries.unsubscribe(t.Context())
				return
			}
			time.Sleep(50 * time.Millisecond)
			if n := len(e.latch); n != 0 {
				t.Errorf("the new waiter is woken %d times: the entry is not lost", n)
			}
		})
	}
}

// countedEntries has an atomic count in an entry, as the article suggests, which is wrong.
type countedEntries struct {
	*entries12
	counted sync.Map // "" to *countedEntry
}

type countedEntry struct {
	waiters atomic.Int64
	*entry12
}

func (s *countedEntries) subscribe(ctx context.Context) (*entry12, error) {
	got, there := s.counted.LoadOrStore("", &countedEntry{entry12: newEntry12()})
	e := got.(*countedEntry)
	e.waiters.Add(1)
	if !there {
		s.mu.Lock()
		err := s.hub.subscribe(ctx, s.channel, e.entry12)
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return e.entry12, s.hub.await(ctx, e.entry12)
}

func (s *countedEntries) unsubscribe(ctx context.Context) {
	got, ok := s.counted.Load("")
	if !ok {
		return
	}
	e := got.(*countedEntry)
	if e.waiters.Add(-1) > 0 {
		return
	}
	s.before("remove")
	if !s.counted.CompareAndDelete("", e) {
		return
	}
	s.before("unsubscribe")
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.counted.Load(""); !again {
		s.hub.unsubscribe(ctx, s.channel)
	}
}
