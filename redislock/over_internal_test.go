package redislock

import (
	"strings"
	"testing"
	"time"
)

// TestOver: an expired lease's error contains the server's grant, the timeout of a handover.
func TestOver(t *testing.T) {
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	for _, given := range []time.Duration{30 * time.Second, 500 * time.Millisecond} {
		l := &Lease{c: c, span: 30 * time.Second}
		if !l.begin(time.Now(), given) {
			t.Fatal("it is over at once")
		}
		c.mu.Lock()
		err := l.over()
		c.mu.Unlock()
		if !strings.Contains(err.Error(), given.String()) {
			t.Errorf("a lease of %v: %v", given, err)
		}
		c.drop(l)
	}
}
