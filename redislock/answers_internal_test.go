package redislock

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// TestAnswers: the table decides whether a Lock gives up, whether a renewal loses the lease, and
// what an error advises.
func TestAnswers(t *testing.T) {
	for single, rdb := range map[bool]redis.UniversalClient{true: redis.NewClient(&redis.Options{}), false: redis.NewClusterClient(&redis.ClusterOptions{})} {
		defer rdb.Close()
		c := NewClient(rdb, ClientOptions{})
		defer c.Close()
		for _, admitted := range []bool{false, true} {
			c.admitted.Store(admitted)
			giveUp := map[verdict]bool{unlisted: true, foreign: true, redirect: single, final: true, password: !admitted}
			for _, r := range append(refusals, refusal{"ERR another", unlisted, ""}) {
				err := fmt.Errorf("a request: %w", reply(r.prefix+" for a reason"))
				if got := judge(err); got != r.verdict {
					t.Errorf("%v: verdict %d, want %d", err, got, r.verdict)
				}
				lost := giveUp[r.verdict] && r.verdict != unlisted && r.verdict != foreign
				if c.final(err) != giveUp[r.verdict] || c.settled(err) != lost {
					t.Errorf("%v: a Lock gives up: %t, a lease is lost: %t; want %t and %t", err, c.final(err), c.settled(err), giveUp[r.verdict], lost)
				}
				want := err.Error()
				if r.advice != "" {
					want += " (" + r.advice + ")"
				}
				if got := explain(err).Error(); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
		}
	}
}
