package zksession_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/zksession"
)

// TestManyWatches: watches that need several packets, or fill one, are restored first.
func TestManyWatches(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	const perPacket = 130 // of paths of 1,000 bytes
	for watches, full := range map[int]bool{
		100:       false,
		perPacket: true, // another could follow: requests wait for it, in vain
		3 * 100:   false,
	} {
		t.Run(fmt.Sprint(watches), func(t *testing.T) {
			z := connect(t, zksession.Options{Servers: at.Addrs[0]})
			for i := range watches {
				path := fmt.Sprintf("/%0999d", i)
				if _, _, _, err := z.ExistsW(strings.Replace(path, "0", "x", 1)); err != nil {
					t.Fatal(err)
				}
			}
			for range 20 { // a busy machine can be late with the watches
				before := z.Link()
				z.Cut()
				for z.Link() == before {
					time.Sleep(time.Millisecond)
				}
				requireAnswer(t, z)
				if full || !z.Overtaken() {
					return
				}
			}
			t.Error("requests go before the watches")
		})
	}
}
