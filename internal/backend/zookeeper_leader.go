package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/harness"
)

// Leader returns the number of the leader of a ZooKeeper ensemble, and waits for one if need
// be. A stopped or dead server does not answer, so it does not count. Of two leaders the later
// election wins. A single server leads itself.
func (s *Server) Leader(ctx context.Context) (int, error) {
	if s.endpoint.Kind != harness.KindZooKeeper {
		return 0, fmt.Errorf("%w: backend: %s servers elect no leader", harness.ErrUsage, s.endpoint.Kind)
	}
	limits := make([]time.Duration, len(s.endpoint.Addrs[0]))
	leader := 0
	err := retry(ctx, func() error {
		i, found := newestLeader(ctx, s.endpoint.Addrs[0], limits)
		if !found {
			return errors.New("no ZooKeeper server leads")
		}
		leader = i
		return nil
	})
	if err != nil {
		err = fmt.Errorf("backend: %w", err)
	}
	return leader, err
}

// Time limits for the first answer of a server, and for one that was silent before.
const (
	saysWithin   = time.Second
	silentWithin = 100 * time.Millisecond
)

// newestLeader asks all servers at once, each with its limit, and updates limits, first 0.
func newestLeader(ctx context.Context, addrs []string, limits []time.Duration) (int, bool) {
	epochs := make([]int64, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(limits[i], saysWithin))
			defer cancel()
			text, err := FourLetters(ctx, harness.Endpoint{}, addr, "srvr")
			epochs[i] = -1
			limits[i] = saysWithin
			if err == nil {
				epochs[i] = leaderEpoch(text)
			} else if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
				limits[i] = silentWithin
			}
		})
	}
	all.Wait()
	return newest(epochs)
}

func newest(epochs []int64) (i int, found bool) {
	for j, epoch := range epochs {
		if epoch >= 0 && (!found || epoch > epochs[i]) {
			i, found = j, true
		}
	}
	return i, found
}

var zooKeeperZxid = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)

// leaderEpoch returns the election number from a leader's reply to srvr, and -1 if it does not
// lead. The number is the upper half of the last transaction id.
func leaderEpoch(text string) int64 {
	m := zooKeeperZxid.FindStringSubmatch(text)
	if m == nil || !strings.Contains(text, "\nMode: leader\n") && !strings.Contains(text, "\nMode: standalone\n") {
		return -1
	}
	zxid, err := strconv.ParseUint(m[1], 16, 64)
	if err != nil {
		return -1
	}
	return int64(zxid >> 32)
}
