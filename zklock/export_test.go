package zklock

import "github.com/go-zookeeper/zk"

// GrantAfterExpiry queues at m, which must be free, and reports whether the
// ticket gets the lock though the session is said to have expired after the
// queue was looked at.
func GrantAfterExpiry(m *Mutex) (bool, error) {
	t := newTicket(&m.queue, m.p)
	if _, err := t.enter(); err != nil {
		return false, err
	}
	v, err := m.p.look(t)
	if err != nil || !v.head {
		return false, err
	}
	m.c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	return m.c.grant(&Lease{}, t.session), nil
}

// Line returns how many goroutines wait in memory.
func (k *Cohort) Line() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.line.Len()
}
