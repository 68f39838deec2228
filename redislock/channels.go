package redislock

import (
	"sync"
	"weak"
)

// channels holds one listener T per channel, as long as a lock or a waiter refers to it.
type channels[T any] struct {
	mu  sync.Mutex
	all map[string]weak.Pointer[T]
	due int // size at which the entries of dead listeners are removed
}

// get returns the listener of a channel, and calls make if it has no listener.
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
