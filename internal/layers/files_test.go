package layers

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles: in a package of many files each uses only what is below it.
func TestFiles(t *testing.T) {
	for name, plan := range fileLayers {
		n, err := checkFiles(filepath.Join(root, name), plan)
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
		}
		if n < 1000 {
			t.Errorf("%s: found only %d uses between files", name, n)
		}
		t.Logf("%s: %d uses between files, each of something in a lower layer", name, n)
	}
}

// TestFilesReject: the fixture's files use each other in every way there is.
func TestFilesReject(t *testing.T) {
	low := layer{"low", "what others use", []string{"low.go"}}
	high := layer{"high", "what uses it", []string{"high.go", "beside.go"}}
	for _, test := range []struct {
		name string
		plan []layer
		want []string
	}{
		{"as it is built", []layer{low, high}, nil},
		{"upside down", []layer{high, low}, []string{
			"high.go (high) uses Func of low.go (low), which is not below it",
			"high.go (high) uses Const of", "high.go (high) uses variable of", "high.go (high) uses Type of",
			"high.go (high) uses field of", "high.go (high) uses method of", "high.go (high) uses inherited of", "high.go (high) uses generic of",
			"beside.go (high) uses Func of",
		}},
		{"side by side", []layer{{"all", "all of them", []string{"low.go", "high.go", "beside.go"}}}, []string{"high.go (all) uses method of low.go (all)"}},
		{"a file forgotten", []layer{low, {"high", "h", []string{"high.go"}}}, []string{"beside.go stands in no layer"}},
		{"a file that is gone", []layer{low, high, {"top", "t", []string{"gone.go"}}}, []string{"gone.go stands in the plan, but not in"}},
		{"a test in the plan", []layer{low, high, {"top", "t", []string{"low_test.go"}}}, []string{"low_test.go stands in the plan, but not in"}},
		{"a file twice", []layer{low, high, {"top", "t", []string{"high.go"}}}, []string{"high.go stands twice in the plan"}},
		{"a layer that does not say what is in it", []layer{low, {name: "high", files: high.files}}, []string{"layer 1 has no name, or does not say"}},
	} {
		n, err := checkFiles("testdata/files", test.plan)
		if n != 9 {
			t.Errorf("%s: %d uses, want 9", test.name, n)
		}
		if (err != nil) != (test.want != nil) {
			t.Errorf("%s: %v", test.name, err)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: misses %q in\n%v", test.name, want, err)
			}
		}
	}
	if _, err := checkFiles(t.TempDir(), nil); err == nil {
		t.Error("a directory without a package passes")
	}
}
