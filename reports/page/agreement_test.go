package page

import (
	"errors"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func TestAgree(t *testing.T) {
	made := func(seed uint64, noise, a, b float64) *result.Run {
		model := func(name string, rate float64) synthetic.Model {
			return synthetic.Model{Lock: synthetic.Local(name, harness.Blocking, harness.Correct), Rate: func(int) float64 { return rate }, Noise: noise}
		}
		return synthetic.Run(seed, 12, 2, []int{1}, model("sync-mutex", a), model("b", b))
	}
	var alike, split []*result.Run
	for seed := range uint64(10) {
		alike = append(alike, made(seed, 0.01, 2e6, 1e6))
		split = append(split, alike[seed])
		if seed < 2 {
			split[seed] = made(seed, 0.01, 1e6, 2e6)
		}
	}
	nine := append([]*result.Run{split[0]}, alike[1:]...)
	for _, c := range []struct {
		name string
		runs []*result.Run
		want bool
		says string
	}{
		{"alike", alike, true, "sync-mutex: 10"},
		{"one differs", nine, true, "sync-mutex: 9, b: 1"},
		{"two differ", split, false, "sync-mutex: 8, b: 2  FAILED"},
		{"one run", alike[:1], true, "1 of 1 "},
		{"a row is missing", append([]*result.Run{synthetic.Run(1, 12, 2, []int{1, 2}, synthetic.Model{
			Lock: synthetic.Local("sync-mutex", harness.Blocking, harness.Correct), Rate: func(int) float64 { return 1e6 }})}, alike[1:]...), false, "1 of 10"},
	} {
		var out strings.Builder
		if agree, err := WriteAgreement(&out, c.runs, 0.9); err != nil || agree != c.want || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %v, error %v, want %v and %q in\n%s", c.name, agree, err, c.want, c.says, out.String())
		}
	}
	if _, err := WriteAgreement(new(strings.Builder), []*result.Run{{}}, 0.9); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("an empty run: %v, want a usage error", err)
	}
}
