package lab

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"locklab/internal/stat"
)

// A tolerance is a flag with a percentage. Without --margin the manifest of the run decides.
type tolerance struct {
	text  string
	given *float64 // nil without the flag
}

func (t *tolerance) String() string { return t.text }
func (t *tolerance) Type() string   { return "string" }

func (t *tolerance) Set(text string) error {
	v, err := parseMargin(text)
	t.text, t.given = text, &v
	return err
}

func marginFlag(f *pflag.FlagSet, to *tolerance, more string) {
	to.text = fmt.Sprintf("%v%%", 100*stat.DefaultMargin)
	f.Var(to, "margin", "practical margin: the least change of a rate or time that counts"+more)
}

func anyHostFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "any-host", false, "treat machines that differ only in the host name as one, such as containers")
}

// parseMargin reads a percentage such as "0.5%"; without the sign 0.05 could mean 5 %.
func parseMargin(text string) (float64, error) {
	number, signed := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if v /= 100; err != nil || !signed || !(v >= 0 && v <= stat.MaxMargin) {
		return 0, fmt.Errorf("want a percentage such as 5%%, from 0%% to %v%%", 100*stat.MaxMargin)
	}
	return v, nil
}
