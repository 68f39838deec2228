package page

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

func TestSimulatedHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	run := simulatedRun()
	long := strings.Repeat("<b>très long ", 40)
	for i, s := range run.Simulations {
		switch i % 5 {
		case 0:
			s.Simulated = long
		case 1:
			s.Simulated = "OAK 2x22" // the slug of another one
		case 2:
			s.Lock.Name, s.Accuracy = long, long
		case 3:
			s.PerAcquisition = harness.Expected{Median: 1e300, Lo: 1e-300, Hi: 1e300}
			s.Misses = harness.Expected{}
		}
		s.Hold = []float64{0, 0.5, 1e9}[i%3]
	}
	html := pageOf(t, run)
	requireAccessible(t, html)
	if strings.Contains(html, "<b>très") {
		t.Error("a name is not escaped")
	}
	markdownOf(t, run)
	seen := make(map[string]bool)
	for _, p := range Posters(run) {
		if seen[p.Name] || !chart.NameRE.MatchString(p.Name) {
			t.Errorf("chart %q, seen before: %t", p.Name, seen[p.Name])
		}
		seen[p.Name] = true
		if err := p.WritePNG(io.Discard); err != nil {
			t.Error(err)
		}
	}
}

func TestMachinesWithSimulations(t *testing.T) {
	runs := []*result.Run{besideRun(), synthetic.Run(2, 10, 4, []int{1, 2}, synthetic.Fast("queue", 4e6))}
	var out bytes.Buffer
	if err := WriteMachinesHTML(&out, Machines(runs, []string{"runs/a", "runs/b"})); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "a has 30 simulations, which stand nowhere here") || strings.Contains(text, "oak-2x22") {
		t.Error("the page does not say that the simulations of a are left out, or draws them")
	}
}

func TestAccuracyText(t *testing.T) {
	var locks []harness.Lock
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		locks = append(locks, synthetic.Local(name, harness.Spin, harness.Correct))
	}
	run := &result.Run{Simulations: synthetic.Simulations("x", 1, 4, []int{1, 2}, locks...)}
	for _, s := range run.Simulations {
		if s.Accuracy = "not measured on such a machine"; s.Lock.Name == "c" {
			s.Accuracy = "off by 1.2 on such a machine"
		}
	}
	const want = "Accuracy. For a, b, d, e and f: Not measured on such a machine. For c: Off by 1.2 on such a machine."
	if got := chart.ModelledOf(run)[0].Accuracy(); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}
