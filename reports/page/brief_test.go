package page

import (
	"regexp"
	"strings"
	"testing"

	"locklab/internal/synthetic"
)

var tagsRE = regexp.MustCompile(`(?s)<(style|svg)[^>]*>.*?</(style|svg)>|<[^>]+>`)

// TestBriefPage: at most 15 charts and 6,000 words, and every link has its anchor.
func TestBriefPage(t *testing.T) {
	run := synthetic.Zoo(1)
	page, whole := htmlOf(t, Brief(run, "details.html")), pageOf(t, run)
	charts, words := strings.Count(page, "<svg"), len(strings.Fields(tagsRE.ReplaceAllString(page, " ")))
	if charts < 2 || charts > 15 || words > 6000 || strings.Count(whole, "<svg") <= charts {
		t.Errorf("%d charts, %d words", charts, words)
	}
	if !strings.Contains(page, `class="lead"`) || !strings.Contains(page, `class="compared numbers"`) {
		t.Error("the page lacks the headline or the table")
	}
	has := func(page, id string) bool { return strings.Contains(page, ` id="`+id+`"`) }
	links := 0
	for _, m := range regexp.MustCompile(`href="([^"#]*)#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if links++; m[1] == "" && !has(page, m[2]) || m[1] != "" && (m[1] != "details.html" || !has(whole, m[2])) {
			t.Errorf("the link %s leads nowhere", m[0])
		}
	}
	if links == 0 {
		t.Error("the page has no links")
	}
}
