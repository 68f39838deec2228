package zksession_test

import (
	"testing"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/internal/zksession"
)

// TestClose: it returns after the library has ended, in every state.
func TestClose(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	leaktest.All(t)
	for range 5 {
		z, err := zksession.Connect(t.Context(), zksession.Options{Servers: at.Addrs[0]})
		if err != nil {
			t.Fatal(err)
		}
		if z.Close(); !z.Ended() {
			t.Fatal("Close returned before the library's goroutines ended")
		}
		z.Close()
	}
}
