package page

import (
	"fmt"
	"io"

	"locklab/harness/result"
)

// WritePNG draws the named chart of run, of [chart.Suite] or another list of package chart,
// with question, answer and origin, as a PNG of 144 dots per inch. The error wraps
// harness.ErrUsage if there is no chart of that name.
func WritePNG(w io.Writer, run *result.Run, chart string) error {
	p, err := standalone(run, chart)
	if err != nil {
		return err
	}
	return named(p.WritePNG(w), "chart "+chart)
}

// WriteSVG draws the chart of [WritePNG] as SVG in the light theme.
func WriteSVG(w io.Writer, run *result.Run, chart string) error {
	p, err := standalone(run, chart)
	if err != nil {
		return err
	}
	return named(p.WriteSVG(w), "chart "+chart)
}

func named(err error, what string) error {
	if err != nil {
		return fmt.Errorf("reports: %s: %w", what, err)
	}
	return nil
}
