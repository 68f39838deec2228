package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/internal/catalog"
)

func listCommand() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [LOCK|FAMILY|STATUS ...]",
		Short: "Show the locks, their sources and what they claim",
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				words = []string{"all"}
			}
			locks, err := catalog.Select(catalog.All(), words)
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(cmd.OutOrStdout(), locks)
			}
			return listTable(cmd.OutOrStdout(), locks, verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show sources too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listTable(out io.Writer, locks []*harness.Variant, verbose bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "LOCK\tFAMILY\tSTATUS\tCLAIMS\tWHAT IT IS"
	if verbose {
		head += "\tSOURCE"
	}
	fmt.Fprintln(w, head)
	for _, v := range locks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", v.Name, v.Family, v.Status, claims(v.Traits), v.Doc)
		if verbose {
			fmt.Fprintf(w, "\t%s", v.Paper)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// claims names the traits of a lock in a few words.
func claims(t harness.Traits) string {
	var words []string
	if t.FIFO {
		words = append(words, "fifo")
	}
	if t.Fenced {
		words = append(words, "fenced")
	}
	if t.MaxWorkers > 0 {
		words = append(words, fmt.Sprintf("workers≤%d", t.MaxWorkers))
	}
	if t.Needs != "" {
		words = append(words, "needs "+t.Needs)
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

func listJSON(out io.Writer, locks []*harness.Variant) error {
	described := make([]harness.Lock, len(locks))
	for i, v := range locks {
		described[i] = v.Describe()
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(described)
}
