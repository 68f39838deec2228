package page

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

type placed struct {
	text string
	y    float64
}

var svgText = regexp.MustCompile(`<text x="[^"]*" y="([^"]*)"[^>]*>([^<]*)</text>`)

func placedIn(t *testing.T, run *result.Run, chart string) (out []placed) {
	t.Helper()
	for _, m := range svgText.FindAllStringSubmatch(svgOf(t, run, chart), -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, placed{numfmt.Plain(m[2]), y})
	}
	slices.SortStableFunc(out, func(a, b placed) int { return int(1000 * (a.y - b.y)) })
	return out
}

func namesIn(texts []placed, names ...string) (out []string) {
	for _, p := range texts {
		if slices.Contains(names, p.text) {
			out = append(out, p.text)
		}
	}
	return out
}

func beside(texts []placed, name string) (out []string) {
	for _, p := range texts {
		if p.text != name {
			continue
		}
		for _, q := range texts {
			if q.y > p.y-2 && q.y < p.y+2 && q.text != name {
				out = append(out, q.text)
			}
		}
	}
	return out
}

func ofFamily(f harness.Family) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Family = f }
}

func withStatus(s harness.Status) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Status = s }
}

func served(name string, rate float64, edits ...func(*synthetic.Model)) synthetic.Model {
	m := synthetic.Model{Lock: synthetic.Served(name, harness.Redis, harness.KindRedis), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	return synthetic.With(m, edits...)
}

func rankedRun(rounds int) *result.Run {
	return synthetic.Run(3, rounds, 2, []int{1, 2, 8},
		synthetic.With(synthetic.With(synthetic.Fast("delta", 2e6), ofFamily(harness.Blocking))),
		synthetic.With(synthetic.Fast("sync-mutex", 3e6), ofFamily(harness.Blocking)),
		synthetic.With(synthetic.With(synthetic.Fast("alpha", 1e6), ofFamily(harness.Blocking)), withStatus(harness.Correct)),
		synthetic.With(synthetic.With(synthetic.Fast("gamma", 4e6), ofFamily(harness.Blocking))),
		synthetic.With(synthetic.With(synthetic.Fast("beta", 5e6), ofFamily(harness.Blocking)), withStatus(harness.Correct)),
		synthetic.With(synthetic.With(synthetic.Fast("epsilon", 6e6), ofFamily(harness.Blocking)), withStatus(harness.Historical)),
		synthetic.With(synthetic.Fast("empty", 9e9), withStatus(harness.Control)),
		synthetic.With(synthetic.Fast("breaker", 8e6), func(m *synthetic.Model) { m.Breaks = true }),
		served("queue", 3000), served("poll", 1000), served("redsync", 2000, ofFamily(harness.Peer), withStatus(harness.Correct)),
		served("rueidis", 1500, ofFamily(harness.Peer), withStatus(harness.Correct)), served("lost", 4000, withStatus(harness.Correct)),
	)
}

// TestRankingOrder: rows are sorted by median, and every lock of the kind has one.
func TestRankingOrder(t *testing.T) {
	run := rankedRun(12)
	for _, r := range run.Results {
		if r.Lock.Name == "alpha" && r.Round < 3 { // its mean is the greatest
			r.Ops, r.Handovers = 100*r.Ops, 100*r.Handovers
			for i := range r.Workers {
				r.Workers[i] *= 100
			}
		}
	}
	want := []string{"epsilon (historical)", "beta", "gamma", "sync-mutex", "delta", "alpha"}
	texts := placedIn(t, run, chart.RankingLocal.Name)
	if got := namesIn(texts, append(want, "empty (control)", "breaker", "queue")...); !slices.Equal(got, want) {
		t.Errorf("the local locks stand in the order %q, want %q", got, want)
	}
	want = []string{"lost", "queue", "redsync", "rueidis", "poll"}
	if got := namesIn(placedIn(t, run, chart.RankingRemote.Name), append(want, "gamma")...); !slices.Equal(got, want) {
		t.Errorf("the distributed locks stand in the order %q, want %q", got, want)
	}
	all := ""
	for _, p := range texts {
		all += p.text + "\n"
	}
	if !strings.Contains(all, "broke a promise in this run: breaker (exclusion).") {
		t.Errorf("the chart does not name the lock that broke a promise:\n%s", all)
	}
}

// TestRankingMarks: the chosen lock, the default and the best peer have unique marks.
func TestRankingMarks(t *testing.T) {
	run := rankedRun(20)
	for chart, marks := range map[string]map[string]string{
		chart.RankingLocal.Name:  {"beta": "chosen", "sync-mutex": "default", "gamma": "", "delta": "", "alpha": "", "epsilon (historical)": ""},
		chart.RankingRemote.Name: {"lost": "chosen", "redsync": "best peer", "rueidis": "", "queue": "", "poll": ""},
	} {
		texts := placedIn(t, run, chart)
		for name, tag := range marks {
			row := beside(texts, name)
			for _, other := range []string{"chosen", "default", "best peer", "not slower"} {
				if got := slices.Contains(row, other); got != (other == tag) {
					t.Errorf("%s: the row of %s has %q, want the mark %q", chart, name, row, tag)
				}
			}
		}
	}
	shapes := make(map[string]chart.RankMark)
	for m := chart.PlainMark; m <= chart.ChosenMark; m++ {
		shape := fmt.Sprintf("%T", chart.RankShape(m))
		if other, taken := shapes[shape]; taken {
			t.Errorf("the marks %d and %d have one shape, %s", other, m, shape)
		}
		shapes[shape] = m
	}
}

// TestRankingIsTheDecision: the answer is the decision on the most contended situation.
func TestRankingIsTheDecision(t *testing.T) {
	long := rankedRun(12)
	long.Results = append(long.Results, vary(long, otherSettings["hold"], 0.5)...)
	chosen, open := 0, 0
	for name, run := range map[string]*result.Run{
		"many rounds": rankedRun(20), "too few rounds": rankedRun(3), "zoo": synthetic.Zoo(12), "two holds": long,
		"one lock": synthetic.Run(1, 10, 2, []int{1}, synthetic.Fast("only", 1e6)), "gallery": gallery(8, everySetting...),
	} {
		doc := outline(chart.Sanitize(run))
		gs := chart.Groups(chart.Sanitize(run))
		for _, c := range []*chart.Chart{chart.RankingLocal, chart.RankingRemote} {
			g := c.Subject(gs)
			if g == nil {
				continue
			}
			pic := c.Drawn(g)
			row := mostContended(doc.Decisions, c.Remote)
			workers, _, _ := strings.Cut(chart.SettingOf(row.Situation), ", ")
			if want := "With " + workers + ": " + row.Use; !strings.Contains(pic.Title, workers+"?") || !strings.HasPrefix(pic.Answer, want) || !strings.Contains(pic.Answer, chart.Why(row)) {
				t.Errorf("%s, %s: the title is %q and the answer %q, want %q", name, c.Name, pic.Title, pic.Answer, want)
			}
			if chosen++; row.Use == "" {
				open++
			}
		}
	}
	if chosen < 8 || open < 3 {
		t.Errorf("%d answers, %d without a recommendation: this proves little", chosen, open)
	}
}

func mostContended(ds []judge.Decision, remote bool) (out judge.Decision) {
	for _, d := range ds {
		s := d.Situation
		if s.Distributed() == remote && s.Group().Kind() == judge.Ordinary && s.Workers > out.Situation.Workers {
			out = d
		}
	}
	return out
}

// TestRankingScale: rates beyond a factor of ten have a log scale; a linear one starts at 0.
func TestRankingScale(t *testing.T) {
	for least, log := range map[float64]bool{3e6: false, 2.1e5: false, 1e5: true, 1e3: true} {
		run := synthetic.Run(1, 10, 2, []int{1, 8}, synthetic.Fast("fast", 2e6), synthetic.Fast("slow", least))
		texts := placedIn(t, run, chart.RankingLocal.Name)
		said := slices.ContainsFunc(texts, func(p placed) bool {
			return strings.Contains(p.text, "per second") && strings.Contains(p.text, "log scale")
		})
		zero := slices.ContainsFunc(texts, func(p placed) bool { return p.text == "0" })
		if said != log || zero == log {
			t.Errorf("2 M/s and %v/s: it says that the scale is logarithmic: %v; it begins at 0: %v", least, said, zero)
		}
	}
}
