package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"locklab/internal/synthetic"
)

// TestHerdCost: what a hand-over of a herd costs is said with how far it was missed, also
// where no rate is, and is not said where it was missed itself.
func TestHerdCost(t *testing.T) {
	slow := synthetic.Herd("slow") // got fewer processors where it was left out
	slow.Period = func(n float64) time.Duration {
		if n > 100 {
			return 2 * (slow.Server(n) + slow.Client(n))
		}
		return slow.Server(n) + slow.Client(n)
	}
	dear := synthetic.Herd("dear") // costs the server more where it was left out
	cheap := dear.Server
	dear.Server = func(n float64) time.Duration {
		if n > 100 {
			return 2 * cheap(n)
		}
		return cheap(n)
	}
	run := synthetic.Crowds(3, []int{5, 10, 20, 50, 100, 1000}, slow, dear, synthetic.Queue("queue"))
	run.Contenders = []int{10_000}
	var out bytes.Buffer
	if err := WriteCrowd(&out, run, 1000); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A hand-over of slow among 10 k would cost 10002 messages (missed by +0 % at most), 300 ms of the servers' processors (missed by -0 % at most) and 200 ms of the contenders' processors (missed by -0 % at most).",
		"A hand-over of dear among 10 k would cost 10002 messages (missed by +0 % at most) and 200 ms of the contenders' processors (missed by -0 % at most).",
		"No rate and no wait is extrapolated of slow: the model misses a point that was left out by more than a factor of 1.5.",
		"neither rate nor wait of slow is computed: refuted: with 1000 contenders the model is off by a factor of 2; servers and contenders got 0.5 processors there, and 1 in the calibration",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "A hand-over of queue among") {
		t.Errorf("a queue is told as a herd:\n%s", out.String())
	}
	d := newCrowds(run, groups(run))
	for lock, server := range map[string]string{"slow": "300 ms", "dear": unknown} {
		rows := rowsOf(d.rows(), lock)
		if last := rows[len(rows)-1]; strings.ReplaceAll(last[12], nb, " ") != server {
			t.Errorf("server CPU of %s: %q, want %q", lock, last[12], server)
		}
	}
	run.Contenders = nil
	if d := newCrowds(run, groups(run)); d.herds() != "" || d.refused() != "" {
		t.Errorf("nothing was asked for: %q %q", d.herds(), d.refused())
	}
}
