package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// absurd are values that no number or duration may have, including some that do not parse.
var absurd = map[string][]string{
	"int":      {"-1", "-9223372036854775808", "9223372036854775807", "20000000", "9223372036854775808", "NaN", "1e9", ""},
	"uint64":   {"-1", "18446744073709551616", "NaN", "1e9", ""},
	"float64":  {"-1", "0", "1", "2", "1e300", "NaN", "Inf", "-Inf", "1e400", ""},
	"duration": {"-1ns", "-1h", "9223372036s", "2562047h47m16s", "1000000h", "9223372037s", "NaN", "5", ""},
	"count":    {"0", "-1", "20000000", "9223372036854775807", "9223372036854775808", "NaN", "1e3", "1.5"},
	"servers":  {"0", "-1", "2", "9", "9223372036854775808", "NaN", "1.5"},
	"delay":    {"-1ns", "1001ms", "9223372037s", "NaN", "5", "1ms-exp"},
	"percent":  {"-1", "101", "9223372036854775808", "NaN"},
	"rate":     {"0", "0/s", "-1/s", "1e9/s", "NaN/s", "Inf/s", "1000M/s", "9999999999999999999/s", "5", "5/h", "/s", "5/", "0x5/s", "1_0/s"},
	"deadline": {"-1ns", "1000000h", "9223372036s", "9223372037s", "NaN", "5"},
	"span":     {"-1ns", "1000000h", "9223372036s", "9223372037s", "NaN", "5", "-1h-exp", "1000000h-exp"},
}

var axisKinds = map[string]string{
	"workers": "count", "clients": "count", "gomaxprocs": "count", "spread": "count", "read": "percent", "hold": "span", "think": "span",
	"servers": "servers", "delay": "delay", "rate": "rate", "deadline": "deadline",
}

var textual = []string{"string", "bool", "stringSlice", "stringArray"}

// TestLimits: each absurd value of a flag gives one line that names it.
func TestLimits(t *testing.T) {
	needs := map[string]string{
		"proxy": "--listen 127.0.0.1:0 --to 127.0.0.1:9", "run": "--locks sync-mutex", "compare": "--interleave a b", "trace": "zk-fair", "hardware": "cas",
	}
	var tried []refusal
	for _, cmd := range program().command(io.Discard).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			kind := f.Value.Type()
			if slices.Contains(textual, kind) {
				kind = ""
				if cmd.Name() == "run" { // compare asks its binaries first, which reject them in the same way
					kind = axisKinds[f.Name]
				}
			} else if !strings.Contains(fmt.Sprintf("%T", f.Value), "rangedFlag") && f.Name != "seed" {
				t.Errorf("--%s of %s has no limits", f.Name, cmd.Name())
			}
			for _, value := range absurd[kind] {
				tried = append(tried, refusal{fmt.Sprintf("%s %s --%s=%s", cmd.Name(), needs[cmd.Name()], f.Name, value), ""})
			}
		})
	}
	requireRefusals(t, "", tried)
	if len(tried) < 100 {
		t.Errorf("%d values were tried", len(tried))
	}
}
