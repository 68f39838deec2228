package page

import (
	"fmt"
	"io"

	"locklab/harness/judge"
)

// WriteHistoryHTML writes one self-contained page about the runs of h. Unchanged series are
// folded.
func WriteHistoryHTML(w io.Writer, h *judge.History) error {
	doc, err := composeHistory(h)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return writePage(w, "history", doc)
}

// WriteHistoryPNG draws the changes in h, with their question and answer, as a PNG of 144
// dots per inch. Without a change it draws all cases.
func WriteHistoryPNG(w io.Writer, h *judge.History) error {
	return named(historyPage(h).WritePNG(w), "history")
}

// WriteHistorySVG draws the picture of [WriteHistoryPNG] as SVG in the light theme.
func WriteHistorySVG(w io.Writer, h *judge.History) error {
	return named(historyPage(h).WriteSVG(w), "history")
}
