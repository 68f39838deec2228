package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/reports"
)

// reportName is the report's file in the directory of its run.
const reportName = "index.html"

func reportCommand() *cobra.Command {
	var out, pictures string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Draw the report of an earlier run again",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: report needs the directory of one run, got %d arguments", harness.ErrUsage, len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				out = filepath.Join(args[0], reportName)
			}
			defer thrifty()()
			run, err := resultfile.Load(args[0])
			if err != nil {
				return err
			}
			if pictures != "" {
				if err := writePictures(run, pictures); err != nil {
					return err
				}
			}
			return writeReport(cmd.OutOrStdout(), run, out)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (default DIR/"+reportName+")")
	cmd.Flags().StringVar(&pictures, "png", "", "also write each chart as a PNG file into this directory")
	return cmd
}

// thrifty makes the process collect garbage early, until the function that it
// returns is called: a report holds a whole run in memory and makes several times
// as much garbage beside it.
func thrifty() (undo func()) {
	const percent = 25
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// writePictures writes every chart of run to dir/NAME.png.
func writePictures(run *resultfile.Run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w: cannot write pictures: %v", harness.ErrUsage, err)
	}
	names := reports.FindingCharts(run)
	if len(run.Results) > 0 || len(names) == 0 {
		names = append(names, reports.Charts(run)...)
	}
	for _, name := range names {
		var png bytes.Buffer
		if err := reports.WritePNG(&png, run, name); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png.Bytes(), 0o644); err != nil {
			return fmt.Errorf("%w: cannot write pictures: %v", harness.ErrUsage, err)
		}
	}
	return nil
}

// writeReport writes the report of run to file and its verdict to out.
func writeReport(out io.Writer, run *resultfile.Run, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("%w: cannot write the report: %v", harness.ErrUsage, err)
	}
	defer f.Close()
	if err := reports.WriteHTML(f, run); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("locklab: %w", err)
	}
	if err := reports.WriteVerdict(out, run, width(out)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s\n", reportLine(file))
	return err
}

// reportLine says where a report is.
func reportLine(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return "report: " + file
}

// width returns how wide out is, in characters.
func width(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 100
}
