package layers

import (
	"testing"

	"locklab/harness"
)

func TestSuiteComplete(t *testing.T) {
	tas := &harness.Variant{Name: "tas", Paper: "Anderson 1990"}
	made := &harness.Variant{Name: "made", Paper: "Mellor-Crummey & Scott 1991, algorithm 5"}
	for _, test := range []struct {
		dir   string
		suite []*harness.Variant
		want  []string
	}{
		{"complete", []*harness.Variant{tas, made}, []string{""}},
		{"complete", []*harness.Variant{made}, []string{`tas.go has a variant named "tas" that is not in Suite`}},
		{"forgotten", []*harness.Variant{tas}, []string{
			"forgotten.go declares the variant ttas, but Suite does not list it; add this line to Suite:\n\tttas,",
			"forgotten.go declares the variant made, but Suite does not list it",
			`forgotten.go has a variant named "inline" that is not in Suite`,
		}},
		{"uncited", []*harness.Variant{tas}, []string{`uncited.go does not cite the source of "tas", "Anderson 1990": its comments lack 1990`}},
		{"uncited", []*harness.Variant{tas, {Name: "elsewhere"}}, []string{`no file contains the name "elsewhere"`}},
		{"nosuite", nil, []string{"no variable Suite"}},
		{"missing", nil, []string{"no Go files"}},
	} {
		t.Run(test.dir, func(t *testing.T) {
			err := suiteComplete("testdata/suites/"+test.dir, test.suite)
			for _, want := range test.want {
				wantError(t, err, want)
			}
		})
	}
}
