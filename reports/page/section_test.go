package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

func TestSectionCost(t *testing.T) {
	run := synthetic.Run(1, 2, 2, []int{1, 8}, synthetic.Fast("steady", 1e6))
	run.Manifest.Sections = map[harness.Section]float64{harness.SectionMap: 21.5}
	var page bytes.Buffer
	if err := WriteHTML(&page, run); err != nil {
		t.Fatal(err)
	}
	if cost := fmt.Sprintf("21.5%sns for a change of its data", numfmt.Space); !strings.Contains(page.String(), cost) {
		t.Errorf("the page lacks %q", cost)
	}
}
