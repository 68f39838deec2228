package lab

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness/result"
	"locklab/internal/nearest"
	"locklab/reports/page"
)

func exportCommand() *cobra.Command {
	var format, out string
	names := result.Each(result.Exports, func(e *result.Export) string { return e.Name })
	docs := result.Each(result.Exports, func(e *result.Export) string { return fmt.Sprintf("  %-13s %s", e.Name, e.Doc) })
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Export the results of a run: CSV, benchstat, HdrHistogram",
		Long: "export writes the results of the run in DIR in a format that other programs\nread:\n\n" + strings.Join(docs, "\n") + `

In CSV the first columns describe the case; the others are metrics, named by
their units. Text from outside is escaped so that no spreadsheet takes it for a
formula.`,
		Example: "  locklab export DIR > results.csv\n  locklab export DIR --format hdr-wait -o waits.hlog",
		Args:    needs(1, 1, "export needs the directory of one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(names, format)
			if i < 0 {
				return usage("--format is %q%s: want one of %s", format, nearest.Hint(format, names), strings.Join(names, ", "))
			}
			return interruptible(cmd.Context(), cmd.ErrOrStderr(), "the export", func(files *saver) error {
				return export(result.Exports[i], args[0], out, files, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&format, "format", "f", "csv", "one of "+strings.Join(names, ", "))
	f.StringVarP(&out, "out", "o", "", "file to write (default: standard output)")
	return cmd
}

func export(e *result.Export, dir, file string, files *saver, stdout, stderr io.Writer) error {
	run, err := loadRun(dir)
	if err != nil {
		return err
	}
	for _, d := range run.DamageSummary() {
		fmt.Fprintf(stderr, "%s: %s\n", dir, d)
	}
	var text bytes.Buffer
	if err := e.Write(&text, run); err != nil {
		return err
	}
	if file != "" {
		return files.save(file, text.Bytes())
	}
	_, err = text.WriteTo(stdout)
	return err
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [report]",
		Short:     "Print the JSON Schema of a line of results.jsonl, or of report --format json",
		Example:   "  locklab schema report > report.schema.json",
		ValidArgs: []string{"report"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "report" {
				return usage("unexpected %q: want nothing, or report", args[len(args)-1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			schema := result.JSONSchema
			if len(args) > 0 {
				schema = page.JSONSchema
			}
			_, err := cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
