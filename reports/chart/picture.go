package chart

import (
	"fmt"

	"locklab/harness/result"
	"locklab/reports/draw"
)

// A Picture is a sketch with its texts and data.
type Picture struct {
	draw.Picture

	Title   string // the question with its figures, if it differs from the chart's
	Answer  string // in a sentence or two; never empty
	Load    string // the workload, if it differs from the group's
	Numbers Table  // the figures in the drawing
	Data    Source // their source
}

// A Named is a picture in a file of its own.
type Named struct {
	Name, Title, Doc string
	Pic              Picture
	Folded           bool            // the page shows it when asked
	Finding          *result.Finding // with the table that is drawn; nil for others
	Model            *Modelled       // that predicts the figures; nil for others
}

func nothing(format string, args ...any) Picture {
	return Picture{Answer: fmt.Sprintf(format, args...)}
}

// A Table contains the figures of a chart.
type Table struct {
	Head []Piece // a column whose figures are a metric links to it
	Rows [][]string
}

// Titles returns heads of columns without a metric.
func Titles(texts ...string) (out []Piece) {
	for _, t := range texts {
		out = append(out, Piece{Text: t})
	}
	return out
}

// ByName returns the heads of columns of ms, under their names.
func ByName(ms ...*result.Metric) (out []Piece) {
	for _, m := range ms {
		out = append(out, Piece{m.Name, m})
	}
	return out
}
