package lab

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// terms is the flag of the tolerance. Without it the manifest of the run decides.
type terms struct {
	margin string
	set    *pflag.FlagSet
}

func marginFlag(f *pflag.FlagSet, to *string, more string) {
	f.StringVar(to, "margin", fmt.Sprintf("%v%%", 100*stat.DefaultMargin), "practical margin: by how much a rate or time must be worse, beyond chance, to count"+more)
}

func anyHostFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "any-host", false, "machines that differ in the name of the host only are one; as containers are")
}

func (t *terms) flags(f *pflag.FlagSet) {
	t.set = f
	marginFlag(f, &t.margin, "")
}

func (t *terms) apply(m *result.Manifest) error {
	if t.set == nil {
		return nil
	}
	if t.set.Changed("margin") {
		margin, err := parseMargin(t.margin)
		if err != nil {
			return err
		}
		m.Margin = &margin
	}
	return nil
}

// parseMargin reads a percentage such as "0.5%"; without the sign 0.05 could mean 5 %.
func parseMargin(text string) (float64, error) {
	number, signed := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if v /= 100; err != nil || !signed || !(v >= 0 && v <= stat.MaxMargin) {
		return 0, usage("--margin is %q: want a percentage such as 5%%, from 0%% to %v%%", text, 100*stat.MaxMargin)
	}
	return v, nil
}
