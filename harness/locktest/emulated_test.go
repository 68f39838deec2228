package locktest

import (
	"maps"
	"testing"

	"locklab/harness"
)

func TestSuiteResults(t *testing.T) {
	out := "=== RUN   TestSuite\n--- FAIL: TestSuite (1.00s)\n" +
		"    --- PASS: TestSuite/mcs (0.40s)\n        --- PASS: TestSuite/mcs/liveness (0.25s)\n" +
		"    --- FAIL: TestSuite/hapax (20.18s)\n        --- FAIL: TestSuite/hapax/liveness (20.18s)\n" +
		"    --- SKIP: TestSuite/bakery-nofence (0.00s)\nFAIL\n"
	want := map[string]string{"mcs": "PASS", "hapax": "FAIL", "bakery-nofence": "SKIP"}
	if got := suiteResults(out); !maps.Equal(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
}

func TestCheckBeyond(t *testing.T) {
	suite := []*harness.Variant{{Name: "mcs"}}
	for _, tc := range []struct {
		beyond map[string]string
		ok     bool
	}{
		{nil, true},
		{map[string]string{"mcs": "the emulator lacks it"}, true},
		{map[string]string{"mcs": ""}, false},
		{map[string]string{"clh": "the emulator lacks it"}, false},
	} {
		if err := checkBeyond(suite, tc.beyond); (err == nil) != tc.ok {
			t.Errorf("%v: %v, want an error: %t", tc.beyond, err, !tc.ok)
		}
	}
}
