package redislock

import (
	"sync"
	"weak"
)

// channels are what listens to each channel for all locks of a client that do: one for
// as long as any of them, or a waiter, is there. The zero value is empty.
type channels[T any] struct {
	mu  sync.Mutex
	all map[string]weak.Pointer[T]
	due int // how many there may be before the remains of those that are gone are cleared
}

// get returns what listens to a channel, by make if nothing does.
func (s *channels[T]) get(channel string, make func() *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.all[channel].Value(); v != nil {
		return v
	}
	if s.all == nil {
		s.all, s.due = map[string]weak.Pointer[T]{}, 64
	}
	if len(s.all) >= s.due {
		for channel, v := range s.all {
			if v.Value() == nil {
				delete(s.all, channel)
			}
		}
		s.due = max(64, 2*len(s.all))
	}
	v := make()
	s.all[channel] = weak.Make(v)
	return v
}
