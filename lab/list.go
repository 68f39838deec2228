package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"locklab/harness"
)

func (p *Program) listCommand() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [LOCK|FAMILY|STATUS ...]",
		Short: "Show the locks, their sources and what they claim",
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				words = []string{"all"}
			}
			locks, err := p.choose(words)
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(cmd.OutOrStdout(), locks)
			}
			return listTable(cmd.OutOrStdout(), locks, verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show sources and sizes too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listTable(out io.Writer, locks []*harness.Variant, verbose bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "LOCK\tFAMILY\tSTATUS\tCLAIMS\tWHAT IT IS"
	if verbose {
		head += "\tHEAP BYTES, ABOUT\tSOURCE"
	}
	fmt.Fprintln(w, head)
	for _, v := range locks {
		doc := v.Doc
		if v.Unavailable != "" {
			doc += " (not here: " + v.Unavailable + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", v.Name, v.Family, cmp.Or(v.Status, "-"), claims(v.Traits), doc)
		if verbose {
			fmt.Fprintf(w, "\t%s\t%s", footprint(v), v.Paper)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// footprint returns the bytes of a local lock on the heap, and the additional bytes for
// each worker. Most of it is padding, so that no two words with different writers share a
// cache line.
func footprint(v *harness.Variant) string {
	if v.Local == nil || v.Unavailable != "" {
		return "-"
	}
	const few, more = 1, 17
	if most := v.Traits.MaxWorkers; most > 0 && most < more {
		return fmt.Sprintf("%d for %d", heapBytes(v, most), most)
	}
	a, b := heapBytes(v, few), heapBytes(v, more)
	if b <= a {
		return strconv.FormatUint(a, 10)
	}
	return fmt.Sprintf("%d + %d a worker", a-(b-a)/(more-few), (b-a)/(more-few))
}

// heapBytes returns the bytes that a lock for workers allocates: the least of a few tries,
// since other goroutines may allocate too.
func heapBytes(v *harness.Variant, workers int) uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l := v.Local(harness.Setup{Workers: workers})
		for i := range workers {
			l.Worker(i)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
		runtime.KeepAlive(l)
	}
	return least
}

// claims names the traits of a lock in a few words.
func claims(t harness.Traits) string {
	var words []string
	switch {
	case t.Doorway:
		words = append(words, "fifo after a doorway")
	case t.FIFO:
		words = append(words, "fifo")
	case t.Bounded:
		words = append(words, "bounded wait")
	}
	if t.Allocates {
		words = append(words, "allocates")
	}
	if t.Fenced {
		words = append(words, "fenced")
	}
	if t.ReadWrite {
		words = append(words, "readers share")
	}
	if t.Reentrant {
		words = append(words, "reentrant")
	}
	if t.Permits > 1 {
		words = append(words, fmt.Sprintf("permits=%d", t.Permits))
	}
	if t.FollowsWait {
		words = append(words, "wait policy")
	}
	if t.MaxWorkers > 0 {
		words = append(words, fmt.Sprintf("workers≤%d", t.MaxWorkers))
	}
	switch {
	case t.Servers > 1:
		words = append(words, fmt.Sprintf("needs %d %s", t.Servers, t.Needs))
	case t.Needs != "":
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
