package harness

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Finding is what one experiment about the hardware found. Like a [Result] it
// carries all that a page needs: the question, the figures and how to draw them.
type Finding struct {
	Name     string `json:"name"`     // of the experiment
	Question string `json:"question"` // ends with a question mark
	Method   string `json:"method"`
	Source   string `json:"source"` // the paper or person that asked or described it first

	Started     time.Time     `json:"started"`
	Elapsed     time.Duration `json:"elapsed"`               // ns
	Interrupted bool          `json:"interrupted,omitempty"` // it ended early: the figures are of what was finished

	Answer   string    `json:"answer"` // a sentence or two, computed from the tables
	Tables   []Table   `json:"tables,omitempty"`
	Listing  string    `json:"listing,omitempty"` // preformatted text, such as machine instructions
	Notes    []string  `json:"notes,omitempty"`   // what it ran on, and what limits it
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

// ChartKind says how a table is drawn.
type ChartKind string

// The kinds of charts.
const (
	NoChart ChartKind = ""      // only a table
	Bars    ChartKind = "bars"  // a group of bars for each row, one for each column
	Lines   ChartKind = "lines" // a line for each column over Row.X
	Heat    ChartKind = "heat"  // a field of cells: row i and column i are the same thing, the colour is the figure
)

// A Column is a quantity and its unit, "" for a plain number.
type Column struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Plot bool   `json:"plot,omitempty"` // drawn; all plotted columns of a table have one unit
}

// A Row is what was measured of one thing.
type Row struct {
	Label string  `json:"label"`
	X     float64 `json:"x,omitempty"` // where lines have it; 0 is nowhere
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

// String returns the cell as text, such as "412 k [380 k..440 k]". The interval
// is left out where its ends are the same.
func (c Cell) String() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.N == 0:
		return "-"
	}
	lo, hi := FormatNumber(c.Lo), FormatNumber(c.Hi)
	if lo == hi {
		return lo
	}
	return fmt.Sprintf("%s [%s..%s]", FormatNumber(c.Median), lo, hi)
}

// FormatNumber writes x with three significant figures, thousands as "k" and
// millions as "M", and whole numbers below ten thousand in full.
func FormatNumber(x float64) string {
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

// decimals returns how many decimals give a > 0 three significant figures.
func decimals(a float64) int {
	return max(0, min(2, 2-int(math.Floor(math.Log10(a)))))
}

// A Sample is a finished part of an experiment that takes long, kept so that an
// interrupted experiment can go on: the raw values of one key.
type Sample struct {
	Experiment string    `json:"experiment"`
	Key        string    `json:"key"`
	Values     []float64 `json:"values"`
}
