package lab

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// herd12: one release wakes one waiter in each process; only a queue wakes one in all.
func herd12(t *testing.T, s *scene) {
	const processes = 3
	h := s.process12().Thread()
	s.must(h.Acquire(t.Context(), 0))
	var all sync.WaitGroup
	var views []*lock12
	var slept sync.WaitGroup
	stay := make(chan struct{})
	for range processes {
		p := s.process12()
		views = append(views, p)
		slept.Add(1)
		p.Before(once("sleep", 1, slept.Done))
		all.Go(func() {
			w := p.Thread()
			if err := w.Acquire(t.Context(), 0); err != nil {
				t.Error(err)
			}
			<-stay
			if _, err := w.Release(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	slept.Wait()
	sum := func() (woken, inVain uint64) {
		for _, p := range views {
			n, m := p.Wakeups()
			woken, inVain = woken+n, inVain+m
		}
		return woken, inVain
	}
	_, err := h.Release(t.Context())
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
		one.Before(func(step string) {
			if step == "sleep" {
				slept.Done()
			}
		})
		for range waiters {
			p := one
			if !shared {
				p = newLock12(p0, s.key, 0)
				p.Before(once("sleep", 1, slept.Done))
			}
			views = append(views, p)
			all.Go(func() { p.Thread().Acquire(ctx, 0) })
		}
		slept.Wait()
		sent := one.Subscribes()
		if !shared {
			for _, p := range views {
				sent += p.Subscribes()
			}
		}
		n, memory := s.subscribers(one.Channel())
		t.Logf("%d waiters, shared %-5t: %d SUBSCRIBE, %d connections, %d KiB in the server", waiters, shared, sent, n, memory>>10)
		if want := map[bool]uint64{true: 1, false: waiters}[shared]; sent != want || uint64(n) != want {
			t.Errorf("shared %t: %d SUBSCRIBE and %d connections, want %d", shared, sent, n, want)
		}
		cancel()
		all.Wait()
		eventually(t, "the subscriptions end", func() bool { n, _ := s.subscribers(one.Channel()); return n == 0 })
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
		entries func(*lock12) Entries
		step    string // the waiter comes before it
		heard   bool   // the new waiter gets the message
	}{
		{"copied entries", (*lock12).Entries, "remove", true},
		{"copied entries", (*lock12).Entries, "unsubscribe", true},
		{"atomic count", (*lock12).CountedEntries, "remove", false},
		{"atomic count", (*lock12).CountedEntries, "unsubscribe", true},
	} {
		t.Run(fmt.Sprintf("%s, before %s", test.name, test.step), func(t *testing.T) {
			p := s.process12()
			entries := test.entries(p)
			_, err := entries.Subscribe(t.Context())
			s.must(err)
			var permits func() int
			entries.Before(once(test.step, 1, func() { permits, err = entries.Subscribe(t.Context()) }))
			entries.Unsubscribe(t.Context())
			s.must(err)
			// The replies to UNSUBSCRIBE and PUBLISH come on different connections.
			want := int64(0)
			if test.heard {
				want = 1
			}
			eventually(t, "the server knows", func() bool { n, _ := s.subscribers(p.Channel()); return n == want })
			s.must(p.ForceUnlock(t.Context()))
			if test.heard {
				eventually(t, "the new waiter is woken", func() bool { return permits() == 1 })
				entries.Unsubscribe(t.Context())
				return
			}
			time.Sleep(50 * time.Millisecond)
			if n := permits(); n != 0 {
				t.Errorf("the new waiter is woken %d times: the entry is not lost", n)
			}
		})
	}
}
