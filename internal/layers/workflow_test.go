package layers

import (
	"regexp"
	"strings"
	"testing"
)

// TestWorkflow checks that the workflow runs targets of the Makefile, including all of
// .ci/run, with the Go of go.mod, and uses actions of one version each.
func TestWorkflow(t *testing.T) {
	workflow, makefile := readFile(t, ".github/workflows/test.yml"), readFile(t, "Makefile")
	matrix := regexp.MustCompile(`(?m)^ +target: \[(.*)\]$`).FindStringSubmatch(workflow)
	if matrix == nil {
		t.Fatal("the workflow has no list of targets")
	}
	targets := strings.Split(matrix[1], ", ")
	for _, target := range targets {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `: .*## `).MatchString(makefile) {
			t.Errorf("the Makefile has no target %q", target)
		}
	}
	runs := regexp.MustCompile(`(?m)^make ([a-z-]+)$`).FindAllStringSubmatch(readFile(t, ".ci/run"), -1)
	if len(runs) < 3 {
		t.Errorf(".ci/run makes %v", runs)
	}
	for _, run := range runs {
		if !strings.Contains(" "+strings.Join(targets, " ")+" ", " "+run[1]+" ") {
			t.Errorf("the workflow does not make %s, .ci/run does", run[1])
		}
	}
	if !strings.Contains(workflow, "make ${{ matrix.target }}") || !strings.Contains(workflow, "go-version-file: go.mod") {
		t.Error("the workflow does not make its targets, or not with the Go of go.mod")
	}
	for _, use := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(workflow, -1) {
		if !regexp.MustCompile(`@v\d+\.\d+\.\d+$`).MatchString(use[1]) {
			t.Errorf("%s is not of one version", use[1])
		}
	}
}
