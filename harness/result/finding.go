package result

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Finding is the outcome of one experiment about the hardware. Like a [Result] it
// carries everything a page needs: the question, the figures and how to draw them.
type Finding struct {
	Name     string `json:"name"`     // of the experiment
	Question string `json:"question"` // ends with a question mark
	Method   string `json:"method"`
	Source   string `json:"source"` // the paper or person that asked or described it first

	Started     time.Time     `json:"started"`
	Elapsed     time.Duration `json:"elapsed"`               // ns
	Interrupted bool          `json:"interrupted,omitempty"` // it ended early: the figures cover only the finished part

	Answer   string    `json:"answer"` // a sentence or two, computed from the tables
	Tables   []Table   `json:"tables,omitempty"`
	Listing  string    `json:"listing,omitempty"` // preformatted text, such as machine instructions
	Notes    []string  `json:"notes,omitempty"`   // conditions and limits
	Warnings []Warning `json:"warnings,omitempty"`
}

// A Table has one cell for each column in each row.
type Table struct {
	Caption string    `json:"caption"`
	Label   string    `json:"label"` // heading of the row labels; the title of the x axis of lines
	Columns []Column  `json:"columns"`
	Rows    []Row     `json:"rows"`
	Chart   ChartKind `json:"chart,omitempty"` // how to draw the columns with Plot
	Log     bool      `json:"log,omitempty"`   // the axis of the figures is logarithmic
}

// ChartKind selects how a table is drawn.
type ChartKind string

// The kinds of charts.
const (
	NoChart ChartKind = ""      // only a table
	Bars    ChartKind = "bars"  // a group of bars for each row, one for each column
	Lines   ChartKind = "lines" // a line for each column over Row.X
	Heat    ChartKind = "heat"  // a matrix of cells: row i and column i are the same thing, the colour is the figure
)

// A Column is a quantity and its unit, "" for a plain number.
type Column struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Plot bool   `json:"plot,omitempty"` // drawn; all plotted columns of a table have one unit
}

// A Row has the figures of one thing.
type Row struct {
	Label string  `json:"label"`
	X     float64 `json:"x,omitempty"` // position on the x axis of lines; 0: none
	Cells []Cell  `json:"cells"`
}

// A Cell is one figure with an interval, made of N samples. N is 0 if there is
// no figure. Text, if not empty, is shown instead.
type Cell struct {
	Median float64 `json:"median,omitempty"`
	Lo     float64 `json:"lo,omitempty"`
	Hi     float64 `json:"hi,omitempty"`
	N      int     `json:"n,omitempty"`
	Text   string  `json:"text,omitempty"`
}

// String returns the cell as text, such as "412 k [380 k..440 k]". It omits the interval
// if its ends are the same.
func (c Cell) String() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.N == 0:
		return "-"
	}
	lo, hi := formatNumber(c.Lo), formatNumber(c.Hi)
	if lo == hi {
		return lo
	}
	return fmt.Sprintf("%s [%s..%s]", formatNumber(c.Median), lo, hi)
}

// formatNumber writes x with three significant figures, thousands as "k" and
// millions as "M", and whole numbers below ten thousand in full.
func formatNumber(x float64) string {
	switch a := math.Abs(x); {
	case a >= 999_500:
		return strconv.FormatFloat(x/1e6, 'f', decimals(a/1e6), 64) + " M"
	case a >= 10_000:
		return strconv.FormatFloat(x/1e3, 'f', decimals(a/1e3), 64) + " k"
	case x == math.Trunc(x) || a >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	default:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
}

func decimals(a float64) int {
	return max(0, min(2, 2-int(math.Floor(math.Log10(a)))))
}

// A Sample is a finished part of a long experiment: the raw values of one key. It is kept
// so that an interrupted experiment can resume.
type Sample struct {
	Experiment string    `json:"experiment"`
	Key        string    `json:"key"`
	Values     []float64 `json:"values"`
}
