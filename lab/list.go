package lab

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/table"
)

func (p *Program) listCommand() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:     "list [LOCK|FAMILY|STATUS ...]",
		Short:   "List the locks, their sources and their claims",
		Example: "  locklab list redis --verbose",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			locks, err := p.choose(or(words, "all"))
			if err != nil {
				return err
			}
			if asJSON {
				return encodeJSON(cmd.OutOrStdout(), result.Each(locks, result.Describe))
			}
			return listTable(cmd.OutOrStdout(), locks, verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show sources too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listTable(out io.Writer, locks []*harness.Variant, verbose bool) error {
	head := []any{"LOCK", "FAMILY", "STATUS", "CLAIMS", "DESCRIPTION"}
	if verbose {
		head = append(head, "SOURCE")
	}
	t := table.New(out, head...)
	for _, v := range locks {
		doc := v.Doc
		if v.Unavailable != "" {
			doc += " (not here: " + v.Unavailable + ")"
		}
		cells := []any{v.Name, v.Family, cmp.Or(v.Status, "-"), claims(v.Traits), doc}
		if verbose {
			cells = append(cells, v.Paper)
		}
		t.Row(cells...)
	}
	return t.Flush()
}

func claims(t harness.Traits) string {
	several := ""
	if t.Servers > 1 {
		several = strconv.Itoa(t.Servers) + " "
	}
	var words []string
	for _, c := range []struct {
		holds bool
		word  string
	}{
		{t.Doorway, "fifo after a doorway"},
		{t.FIFO && !t.Doorway, "fifo"},
		{t.Bounded && !t.FIFO && !t.Doorway, "bounded wait"},
		{t.Allocates, "allocates"},
		{t.Fenced, "fenced"},
		{t.ReadWrite, "readers share"},
		{t.Reentrant, "reentrant"},
		{t.Permits > 1, fmt.Sprintf("permits=%d", t.Permits)},
		{t.FollowsWait, "wait policy"},
		{t.MaxWorkers > 0, fmt.Sprintf("workers≤%d", t.MaxWorkers)},
		{t.Servers > 1 || t.Needs != "", "needs " + several + t.Needs},
	} {
		if c.holds {
			words = append(words, c.word)
		}
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}
