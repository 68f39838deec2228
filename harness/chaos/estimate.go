package chaos

import "time"

// Estimate returns the number of tries left and their approximate duration. A try counts
// once for all locks that share it. took, which may be nil, returns the measured duration
// of a try of a scenario. If it is not positive, a recorded duration is used.
func (p *Plan) Estimate(took func(scenario string) (try time.Duration)) (tries int, d time.Duration) {
	for _, s := range p.Scenarios {
		try := s.lasts()
		if took != nil {
			if t := took(s.Name); t > 0 {
				try = t
			}
		}
		n := p.left(s)
		tries, d = tries+n, d+time.Duration(n)*try
	}
	d /= time.Duration(max(1, p.Parallel))
	if p.Budget > 0 {
		d = min(d, p.Budget)
	}
	return tries, d
}

func (p *Plan) left(s *Scenario) (tries int) {
	for _, group := range p.groups(s) {
		most := 0
		for _, v := range group {
			count := 0
			if p.Done != nil {
				count, _ = p.Done(s.Name, v.Name)
			}
			if v.Unavailable == "" {
				most = max(most, p.tries(s)-count)
			}
		}
		tries += most
	}
	return tries
}

func (s *Scenario) lasts() time.Duration {
	if n, ok := lasting[s.Name]; ok {
		return time.Duration(n) * time.Second
	}
	return s.Deadline
}

// lasting is the duration in seconds of the first try of a scenario with all its locks,
// or with one lock if each is tried alone. It includes the start of the servers, on two
// processors at a load of 15 to 25 (make chaos TRIES=1). Later tries find most servers
// running.
var lasting = map[string]int{
	"holder-pause":                 23,
	"holder-crash":                 20,
	"acquire-reply-lost":           8,
	"acquire-request-lost":         1,
	"release-reply-lost":           4,
	"release-late":                 3,
	"release-stale":                8,
	"redis-holder-cut-off":         5,
	"redis-holder-unheard":         4,
	"redis-holder-deaf":            4,
	"renewals-lost":                4,
	"redis-resets":                 7,
	"redis-silent":                 10,
	"redis-latency":                9,
	"pool-exhausted":               5,
	"pool-used-up":                 6,
	"wakeup-lost":                  13,
	"waiter-crash":                 8,
	"waiter-holder-crash":          8,
	"many-waiters":                 14,
	"readers-together":             8,
	"reentry-late":                 4,
	"reentry-crash":                5,
	"acquire-crash":                5,
	"answer-late":                  5,
	"dead-head":                    2,
	"redis-restart-empty":          3,
	"redis-restart-everysec":       3,
	"redis-restart-always":         3,
	"redis-restart-loading":        5,
	"redis-promotion-replicated":   2,
	"redis-promotion-at-once":      2,
	"redis-promotion-cut":          1,
	"redis-promotion-release-lost": 6,
	"redis-min-replicas-early":     2,
	"redis-min-replicas":           4,
	"redis-promotion-clock-behind": 2,
	"redis-failover-coordinated":   7,
	"redis-promotion-holder-dead":  6,
	"redis-wait-cut":               2,
	"redis-wait-other-replica":     1,
	"redis-wait-all-replicas":      4,
	"redis-server-killed":          9,
	"redis-server-hung":            10,
	"redis-stopped-short":          4,
	"redis-stopped-long":           5,
	"redis-client-pause":           21,
	"redis-debug-sleep":            4,
	"redis-flushall":               3,
	"redis-evicted":                5,
	"redis-script-flush":           3,
	"redis-out-of-memory":          8,
	"redis-maxclients":             4,
	"redis-acl-denied":             3,
	"redis-clock-forward":          4,
	"redis-clock-back":             9,
	"cluster-node-hung":            14,
	"leader-killed":                40,
	"leader-stopped":               35,
	"follower-killed":              39,
	"leader-and-holder-killed":     25,
	"leader-killed-while-syncing":  44,
	"isolated-follower":            22,
	"isolated-follower-free":       25,
	"half-open-leader":             26,
	"half-open-leader-free":        22,
	"zk-holder-cut-off":            17,
	"zk-create-reply-lost":         12,
	"zk-delete-reply-lost":         11,
	"zk-list-reply-lost":           14,
	"zk-read-reply-lost":           16,
	"zk-request-lost":              28,
	"zk-resets":                    24,
	"zk-session-moved":             21,
	"zk-silent-connection":         20,
	"zk-replies-vanish":            20,
	"zk-requests-vanish":           19,
	"zk-latency":                   30,
	"zk-session-expired":           20,
	"zk-holder-ticket-deleted":     11,
	"zk-waiter-ticket-deleted":     21,
	"zk-path-deleted":              23,
	"zk-foreign-node":              15,
	"zk-numbers-end":               30,
	"late-watch":                   7,
	"alternation":                  6,
	"late-list":                    6,
	"middle-waiter-killed":         19,
	"waiter-reset":                 9,
	"spent-watch":                  6,
	"negative-session":             13,
	"kept-error":                   13,
	"failed-try":                   5,
	"late-cancel":                  9,
	"lost-release":                 9,
	"foreign-child":                11,
	"parent-gone":                  7,
	"two-of-a-client":              7,
	"fifty-of-a-client":            7,
	"cost-of-waiting":              8,
	"eight-of-a-client":            17,
	"lock-after-expiry":            27,
	"nested-unlock":                15,
	"downgrade":                    14,
}
