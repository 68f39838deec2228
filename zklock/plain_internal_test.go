package zklock

import (
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestNodeWatchAfterCut: after a lost connection a watch without an event proves nothing.
func TestNodeWatchAfterCut(t *testing.T) {
	w := nodeWatch{fired: make(chan zk.Event, 1), cuts: 1}
	if !w.pending(moment{cuts: 1}) || w.pending(moment{cuts: 2}) {
		t.Error("want pending on the connection of the watch, and on no other")
	}
}
