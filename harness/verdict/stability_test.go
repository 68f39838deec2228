package verdict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// onlySituation returns the last situation of a simulated run.
func onlySituation(run *resultfile.Run) Situation {
	first, _ := Standing(Groups(run))
	return first[len(first)-1]
}

// TestResampledIsTheRun: the run itself, drawn once, gives the same verdict, without
// what is left out of it.
func TestResampledIsTheRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, w := range []weather{badRounds(0.1), {noise: normal(0.3)}, {noise: normal(0.02)}} {
		for _, rates := range [][]float64{{1, 1, 0.5}, {1, 0.9, 0.9}, {1, 0.6, 0.98}} {
			s := onlySituation(w.simulate(rng, 16, choice17(rates...)))
			want, got := Judge(s), Judge(s.resampled(roundsOf([]Situation{s})))
			if got.Use != want.Use || got.Grade != want.Grade || got.Why != want.Why {
				t.Errorf("got %q, %s (%s); want %q, %s (%s)", got.Use, got.Grade, got.Why, want.Use, want.Grade, want.Why)
			}
		}
	}
}

// TestResampledKeepsRoundsWhole: rounds that differ by a factor of a thousand, in which
// one lock is always 20 % faster, say the same however they are drawn, with each as
// often as it was drawn; drawn for each lock by itself they would say nothing.
func TestResampledKeepsRoundsWhole(t *testing.T) {
	w := weather{noise: normal(0.001), common: 3}
	s := onlySituation(w.simulate(rand.New(rand.NewPCG(3, 4)), 16, choice17(1, 0.8, 0.5)))
	vs, _ := Weigh([]Situation{s}, nil)
	if a := vs[0].Agreement; vs[0].Use != "usea" || a.Same != a.Of || a.Of != 200 || a.None != 0 {
		t.Errorf("%s: %+v, want usea in 200 of 200", vs[0].Use, a)
	}
	again := s.resampled(slices.Repeat([]int{5}, 16))
	for _, x := range again.g.Series {
		if n := len(x.Cells[s.workers].Rounds); n != 16 {
			t.Fatalf("%s: a round that is drawn 16 times counts as %d", x.Lock.Name, n)
		}
	}
}

// TestBrokenStaysBroken: a lock that broke its promise in one round is not used in
// resampled runs without that round.
func TestBrokenStaysBroken(t *testing.T) {
	models := []synthetic.Model{
		{Lock: synthetic.Local("bad", harness.Spin, harness.Recommended), Rate: func(int) float64 { return 2e6 }, Noise: 0.01, Breaks: true},
		{Lock: synthetic.Local("good", harness.Spin, harness.Recommended), Rate: func(int) float64 { return 1e6 }, Noise: 0.01},
	}
	first, _ := Standing(Groups(synthetic.Run(1, 12, 2, []int{1, 2, 8}, models...)))
	vs, stable := Weigh(first, func(vs []Verdict) string { return vs[0].Use })
	for _, v := range vs {
		if v.Use != "good" || v.Agreement.Same != v.Agreement.Of || v.Agreement.Of == 0 {
			t.Errorf("%s: %q, %+v", v.Situation, v.Use, v.Agreement)
		}
	}
	if stable.Local.Same != stable.Local.Of || stable.Local.Of == 0 || stable.Remote.Of != 0 {
		t.Errorf("the sentence: %+v", stable)
	}
}

// TestWeighSentence: rows that choose alike do not make a sentence that agrees, and
// each kind of lock has one of its own.
func TestWeighSentence(t *testing.T) {
	var models []synthetic.Model
	for i, l := range []harness.Lock{
		synthetic.Local("here", harness.Spin, harness.Recommended), synthetic.Served("there", harness.Redis, harness.KindRedis),
	} {
		models = append(models, synthetic.Model{Lock: l, Rate: func(int) float64 { return float64(i+1) * 1e4 }, Handed: 0.9, Noise: 0.01})
	}
	first, _ := Standing(Groups(synthetic.Run(1, 12, 2, []int{1, 2, 8}, models...)))
	calls := 0
	vs, stable := Weigh(first, func(vs []Verdict) string {
		if vs[0].Remote() {
			return vs[0].Use
		}
		calls++
		return fmt.Sprint(calls) // never the same
	})
	for _, v := range vs {
		if v.Agreement.Share() != 1 {
			t.Errorf("%s: %+v, want all", v.Situation, v.Agreement)
		}
	}
	if stable.Local.Same != 0 || stable.Local.Of == 0 || stable.Remote.Same != stable.Remote.Of || stable.Remote.Of == 0 {
		t.Errorf("got %+v, want no agreement inside a process, and all between", stable)
	}
}

// TestWeighSeesChance: where another draw of the rounds may as well choose another
// lock, the share says so, of the row and of the sentence.
func TestWeighSeesChance(t *testing.T) {
	s := onlySituation(weather{noise: normal(0.15)}.simulate(rand.New(rand.NewPCG(3, 4)), 16, choice17(1, 0.87, 0.5)))
	vs, stable := Weigh([]Situation{s}, func(vs []Verdict) string { return vs[0].Use })
	if a := vs[0].Agreement; a.Share() > 0.9 || a.Share() < 0.2 || stable.Local != a {
		t.Errorf("%v, and the sentence %v; want the same share, some and not all", a, stable.Local)
	}
}

func TestAgreementInWords(t *testing.T) {
	for _, c := range []struct {
		a     Agreement
		use   string
		grade string
		want  string
	}{
		{Agreement{}, "a", Clear, "why"},
		{Agreement{200, 0, 200}, "a", Clear, "why; the same in 100 % of 200 resampled runs"},
		{Agreement{200, 0, 200}, "a", Only, "why"},
		{Agreement{199, 1, 200}, "a", Only, "why; the same in 99 % of 200 resampled runs, no verdict in 1 %"},
		{Agreement{150, 150, 200}, "", "", "why. None either in 75 % of 200 resampled runs"},
	} {
		v := Verdict{Use: c.use, Grade: c.grade, Why: "why", Agreement: c.a}
		v.agreed()
		if got := numfmt.Plain(v.Why); got != c.want {
			t.Errorf("%+v: %q, want %q", c.a, got, c.want)
		}
	}
}

// BenchmarkWeigh is of a run as "make report" makes it: seven situations of 17 locks
// in 16 rounds, drawn 200 times.
func BenchmarkWeigh(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 1))
	var ss []Situation
	for range 7 {
		ss = append(ss, onlySituation(badRounds(0.1).simulate(rng, 16, choice17(1, 0.9, 0.5, 0.5))))
	}
	for b.Loop() {
		Weigh(ss, nil)
	}
}
